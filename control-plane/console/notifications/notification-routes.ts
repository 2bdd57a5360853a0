import type { Notification } from "../../../protocol/notifications.ts";
import { time } from "../../domain/moments.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import { listDeliveries, redeliver, testRule } from "../../services/notifications/deliveries.ts";
import {
  createRule,
  deleteRule,
  getRule,
  listRules,
  rotateSecret,
  updateRule,
} from "../../services/notifications/rules.ts";
import { newForm, type FormsOf } from "../page/form.ts";
import { idIn, readList } from "../page/list.ts";
import { listPlaces } from "../places.ts";
import type { SignedIn } from "../signed-in.ts";
import { changeFrom, createdFrom, editedFields, withoutAddress } from "./notification-input.ts";
import { notificationPage, type NotificationViewModel } from "./notification-page.ts";
import { newNotificationPage, notificationsPage } from "./notifications-page.ts";

const shown = 100;
const deliveriesShown = 20;
/** How often an open page is redrawn, in seconds. */
const refresh = 10;

const frame = { at: "/notifications" };
const first = { kind: "webhook", events: ["approval.needed", "job.failed", "job.outcome_unknown"] };

export function notificationPages(pages: SignedIn, context: Context): void {
  const now = () => time(context.now());
  const find = (caller: UserCaller, params: unknown) =>
    getRule(context, caller, idIn(params, "notification rule"));

  const drawn = async (
    rule: Notification,
    caller: UserCaller,
    forms: FormsOf,
    done: NotificationViewModel["done"] = {},
  ) => {
    const filter = { before: undefined, limit: deliveriesShown + 1 };
    const [found, places] = await Promise.all([
      listDeliveries(context, caller, rule.id, filter),
      listPlaces(context, caller),
    ]);
    const deliveries = found.slice(0, deliveriesShown);
    const hasMore = found.length > deliveriesShown;
    const model = { rule, deliveries, hasMore, places, done, now: now() };
    return { ...frame, title: rule.name, body: notificationPage(model, forms) };
  };

  const switched = (enabled: boolean) =>
    ({
      path: enabled ? "/enable" : "/disable",
      input: () => ({ enabled }),
      submit: async ({ caller, thing: { id } }: { caller: UserCaller; thing: Notification }) => {
        await updateRule(context, caller, id, { enabled });
        return `/notifications/${id}`;
      },
    }) as const;

  pages.page("/notifications", "listNotifications", {
    draw: async (_, { caller, request }) => {
      const found = await readList(request.query, shown, (before, limit) =>
        listRules(context, caller, before, limit),
      );
      return { ...frame, refresh, title: "Notifications", body: notificationsPage(found, now()) };
    },
  });

  pages
    .page("/notifications/new", "createNotification", {
      draw: async (_, { caller, forms }) => ({
        ...frame,
        title: "New notification rule",
        body: newNotificationPage(forms("create", first), await listPlaces(context, caller)),
      }),
    })
    .form("create", "createNotification", {
      input: createdFrom,
      again: (form) => withoutAddress(form),
      submit: async ({ caller, input }) => {
        const { secret, ...made } = await createRule(context, caller, input());
        return secret === undefined
          ? `/notifications/${made.id}`
          : drawn(made, caller, newForm, { secret });
      },
    });

  pages
    .page("/notifications/:id", "getNotification", {
      find,
      draw: async (rule, { caller, forms }) => ({ ...(await drawn(rule, caller, forms)), refresh }),
    })
    .form("test", "testNotification", {
      path: "/test",
      submit: async ({ caller, thing: { id } }) => {
        const delivery = await testRule(context, caller, id);
        return drawn(await getRule(context, caller, id), caller, newForm, { delivery });
      },
    })
    .form("redeliver", "redeliver", {
      path: "/deliveries/:delivery_id/redeliver",
      submit: async ({ caller, thing: { id }, params }) => {
        const delivery_id = idIn(params, "delivery", "delivery_id");
        const delivery = await redeliver(context, caller, id, delivery_id);
        return drawn(await getRule(context, caller, id), caller, newForm, { delivery });
      },
    })
    .form("edit", "updateNotification", {
      seen: editedFields,
      input: (form, { to }) => changeFrom(form, to.kind),
      again: (form, { to }) => withoutAddress(form, to.kind),
      submit: async ({ caller, thing: { id }, input }) => {
        await updateRule(context, caller, id, input());
        return `/notifications/${id}`;
      },
    })
    .form("enable", "updateNotification", switched(true))
    .form("disable", "updateNotification", switched(false))
    .form("rotate", "rotateNotificationSecret", {
      path: "/rotate",
      input: (form) => ({ overlap_seconds: Number(form.word("overlap_seconds") || Number.NaN) }),
      submit: async ({ caller, thing, input }) =>
        drawn(thing, caller, newForm, await rotateSecret(context, caller, thing.id, input())),
    })
    .form("remove", "deleteNotification", {
      path: "/delete",
      submit: async ({ caller, thing: { id } }) => {
        await deleteRule(context, caller, id);
        return "/notifications";
      },
    });
}
