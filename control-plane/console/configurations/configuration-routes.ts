/** The pages of configurations, and what a person does with them. */
import { isDeepStrictEqual } from "node:util";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { UserCaller } from "../../services/callers.ts";
import { invalid, notFound } from "../../domain/refusal.ts";
import { getConfiguration } from "../../services/configurations/configurations.ts";
import { updateConfiguration } from "../../services/configurations/update.ts";
import { deleteConfiguration } from "../../services/configurations/delete.ts";
import type { Context } from "../../services/context.ts";
import { createJob } from "../../services/jobs/jobs.ts";
import { breakStateLock, rollBackState } from "../../services/states/versions.ts";
import { ruleIn } from "../approvals/rule-view.ts";
import { attachOrDetach } from "../variable-sets/attach-input.ts";
import { editPages, newConfigurationPages } from "./configuration-form-routes.ts";
import { configurationPage } from "./configuration-page.ts";
import { readConfigurationViewModel } from "./configuration-view-model.ts";
import { entriesForms } from "./entries-routes.ts";
import { entryKinds } from "./entries-view.ts";
import { idIn } from "../page/list.ts";
import { planOptionsIn } from "../plans/plan-options.ts";
import type { SignedIn } from "../signed-in.ts";

const frame = { at: "/zones", refresh: 3 };

export function configurationPages(pages: SignedIn, context: Context): void {
  const find = (caller: UserCaller, params: unknown): Promise<Configuration> =>
    getConfiguration(context, caller, idIn(params, "configuration"));

  newConfigurationPages(pages, context);
  editPages(pages, context, find);

  const page = pages
    .page("/configurations/:id", "getConfiguration", {
      find,
      draw: async (configuration, { caller, request, forms }) => {
        const model = await readConfigurationViewModel(
          context,
          caller,
          configuration,
          request.query,
        );
        return { ...frame, title: configuration.name, body: configurationPage(model, forms) };
      },
    })
    .form("start", "createJob", {
      path: "/jobs",
      needs: "plan",
      input: (form, { id }) => ({
        job_type: form.text("job_type"),
        configuration_id: id,
        debug: form.isOn("debug"),
        ...planOptionsIn(form),
      }),
      submit: async ({ caller, thing: { name }, form, input }) => {
        if (form.text("job_type") === "DESTROY" && form.word("confirm") !== name.trim())
          throw invalid("body.confirm", "this is not its name");
        return `/jobs/${(await createJob(context, caller, input())).id}`;
      },
    })
    .form("rule", "updateConfiguration", {
      path: "/approval",
      needs: "administer",
      seen: ({ approval = null }: Pick<Configuration, "approval">) => approval,
      input: (form) => ({ approval: ruleIn(form) }),
      submit: async ({ caller, thing: { id }, input }) => {
        await updateConfiguration(context, caller, id, (now) => {
          const change = input(now);
          return isDeepStrictEqual(change.approval, now.approval) ? {} : change;
        });
        return `/configurations/${id}#approvals`;
      },
    })
    .form("state", "breakStateLock", {
      path: "/state/unlock",
      submit: async ({ caller, thing: { id } }) => {
        await breakStateLock(context, caller, id);
        return `/configurations/${id}#state-title`;
      },
    })
    .form("state", "rollBackState", {
      path: "/state/:serial/rollback",
      submit: async ({ caller, thing: { id }, params }) => {
        const { serial } = params as { serial: string };
        if (!/^\d{1,15}$/.test(serial)) throw notFound("state version");
        await rollBackState(context, caller, id, Number(serial));
        return `/configurations/${id}#state-title`;
      },
    })
    .form("remove", "deleteConfiguration", {
      path: "/delete",
      submit: async ({ caller, thing: { id, zone_id } }) => {
        await deleteConfiguration(context, caller, id);
        return `/zones/${zone_id}`;
      },
    })
    .form("sets", "attachToConfiguration", {
      path: "/variable-sets",
      submit: async ({ caller, thing: { id }, form }) => {
        await attachOrDetach(context, caller, form, { configuration_id: id });
        return `/configurations/${id}#variable-sets`;
      },
    });
  entriesForms(page, {
    path: "/configurations",
    does: "updateConfiguration",
    kinds: entryKinds,
    update: (caller, { id }, change) => updateConfiguration(context, caller, id, change),
  });
}
