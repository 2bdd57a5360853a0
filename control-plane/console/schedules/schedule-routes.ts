import { validate } from "uuid";
import type { CreateSchedule, Schedule } from "../../../protocol/schedules.ts";
import { time } from "../../domain/moments.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import { runSchedule } from "../../services/schedules/rounds.ts";
import {
  createSchedule,
  deleteSchedule,
  getSchedule,
  listSchedules,
  nextTimes,
  updateSchedule,
  type ScheduleFilter,
} from "../../services/schedules/schedules.ts";
import { Form, newForm, type FormsOf } from "../page/form.ts";
import type { Html } from "../page/html.ts";
import { idIn, readList } from "../page/list.ts";
import { listPlaces, placedBy } from "../places.ts";
import type { SignedIn } from "../signed-in.ts";
import { previewView } from "./schedule-fields.ts";
import { fieldsOf, scheduleFrom } from "./schedule-input.ts";
import { schedulePage, type ScheduleViewModel } from "./schedule-page.ts";
import { withSeenJobs } from "./seen-jobs.ts";
import { kindWords } from "./schedule-words.ts";
import { newSchedulePage, schedulesPage } from "./schedules-page.ts";

const shown = 100;
/** How often an open page is redrawn, in seconds. */
const refresh = 10;

const frame = { at: "/schedules" };

/** As `zone:ID`; what is no place is none. */
function placeIn(query: unknown): string {
  const { place } = query as { place?: unknown };
  const [scope = "", id = ""] = typeof place === "string" ? place.split(":") : [];
  return /^(zone|configuration)$/.test(scope) && validate(id) ? `${scope}:${id.toLowerCase()}` : "";
}

function filterBy(place: string): ScheduleFilter {
  const { zone_id, configuration_id } = placedBy(place);
  return { zone_id: zone_id ?? undefined, configuration_id: configuration_id ?? undefined };
}

/** What a new one would be called, unless there is one of this name. */
const withName = (form: Form): Form["fields"] => ({
  ...form.fields,
  name: form.word("name") || kindWords.drift.name,
});

export function schedulePages(pages: SignedIn, context: Context): void {
  const now = () => time(context.now());
  const find = (caller: UserCaller, params: unknown) =>
    getSchedule(context, caller, idIn(params, "schedule"));

  const previewOf = (it: CreateSchedule): Html => {
    const { cron, timezone, window_minutes = 0 } = it;
    return previewView({ cron, timezone, window_minutes }, nextTimes(context, it), now());
  };

  pages.page("/schedules", "listSchedules", {
    draw: async (_, { caller, request }) => {
      const place = placeIn(request.query);
      const [schedules, places] = await Promise.all([
        readList(request.query, shown, (before, limit) =>
          listSchedules(context, caller, filterBy(place), before, limit).then((list) =>
            withSeenJobs(context, caller, list),
          ),
        ),
        listPlaces(context, caller),
      ]);
      const body = schedulesPage({ schedules, places, place, now: now() });
      return { ...frame, refresh, title: "Schedules", body };
    },
  });

  const drawNew = async (caller: UserCaller, form: Form, preview: Html | null = null) => ({
    ...frame,
    title: "New schedule",
    body: newSchedulePage(form, await listPlaces(context, caller), preview),
  });

  pages
    .page("/schedules/new", "createSchedule", {
      draw: async (_, { caller, request, forms }) => {
        // Most schedules of a space have one time zone.
        const [newest] = await listSchedules(context, caller, {}, undefined, 1);
        const place = placeIn(request.query);
        const fields = { kind: "drift", place, timezone: newest?.timezone ?? "UTC" };
        return drawNew(caller, forms("create", fields));
      },
    })
    .form("create", "createSchedule", {
      // A name is not needed to see when it comes.
      input: (form) => scheduleFrom(form.isOn("preview") ? new Form(withName(form)) : form),
      submit: async ({ caller, form, input }) => {
        if (!form.isOn("preview"))
          return `/schedules/${(await createSchedule(context, caller, input())).id}`;
        const preview = previewOf(input());
        return drawNew(caller, newForm("create", form.fields), preview);
      },
    });

  const drawn = async (
    schedule: Schedule,
    caller: UserCaller,
    forms: FormsOf,
    { preview = null, ran }: Partial<Pick<ScheduleViewModel, "preview" | "ran">> = {},
  ) => {
    const [shownOne = schedule] = await withSeenJobs(context, caller, [schedule]);
    const model = {
      schedule: shownOne,
      places: await listPlaces(context, caller),
      times: schedule.next_at === null ? [] : nextTimes(context, schedule),
      preview,
      ...(ran ? { ran } : {}),
      now: now(),
    };
    return { ...frame, title: schedule.name, body: schedulePage(model, forms) };
  };

  const switched = (enabled: boolean) =>
    ({
      path: enabled ? "/enable" : "/disable",
      input: () => ({ enabled }),
      submit: async ({ caller, thing: { id } }: { caller: UserCaller; thing: Schedule }) => {
        await updateSchedule(context, caller, id, { enabled });
        return `/schedules/${id}`;
      },
    }) as const;

  pages
    .page("/schedules/:id", "getSchedule", {
      find,
      draw: async (schedule, { caller, forms }) => ({
        ...(await drawn(schedule, caller, forms)),
        refresh,
      }),
    })
    .form("run", "runSchedule", {
      path: "/run",
      submit: async ({ caller, thing: { id } }) => {
        const after = await runSchedule(context, caller, id);
        const { zone_id, last } = after;
        if (zone_id === null && last?.job_id !== undefined) return `/jobs/${last.job_id}`;
        const skipped = zone_id === null ? last?.skipped : undefined;
        return drawn(after, caller, newForm, { ran: skipped === undefined ? {} : { skipped } });
      },
    })
    .form("edit", "updateSchedule", {
      seen: fieldsOf,
      input: scheduleFrom,
      submit: async ({ caller, thing, form, input }) => {
        const change = input();
        if (!form.isOn("preview")) {
          await updateSchedule(context, caller, thing.id, change);
          return `/schedules/${thing.id}`;
        }
        const preview = previewOf({ ...thing, ...change });
        const forms: FormsOf = (name, fields) =>
          newForm(name, name === "edit" ? form.fields : fields);
        return drawn(thing, caller, forms, { preview });
      },
    })
    .form("enable", "updateSchedule", switched(true))
    .form("disable", "updateSchedule", switched(false))
    .form("remove", "deleteSchedule", {
      path: "/delete",
      submit: async ({ caller, thing: { id } }) => {
        await deleteSchedule(context, caller, id);
        return "/schedules";
      },
    });
}
