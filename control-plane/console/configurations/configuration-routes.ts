/** The pages of configurations, and what a person does with them. */
import { isDeepStrictEqual } from "node:util";
import type { FastifyReply } from "fastify";
import { validate } from "uuid";
import { UpdateConfiguration, type Configuration } from "../../../protocol/configurations.ts";
import { CreateJob } from "../../../protocol/jobs.ts";
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
import { configurationPage, type ConfigurationForms } from "./configuration-page.ts";
import { readConfigurationViewModel } from "./configuration-view-model.ts";
import { entriesForms } from "./entries-routes.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { entryKinds } from "./entries-view.ts";
import { attempt, Form } from "../page/form.ts";
import { sendPage } from "../page/layout.ts";
import { planOptionsIn } from "../plans/plan-options.ts";
import type { Needs } from "../page-permissions.ts";
import type { SignedIn } from "../signed-in.ts";

const refresh = 3;
const validateJob = validatorOf(CreateJob);
const validateChange = validatorOf(UpdateConfiguration);

export function configurationPages(pages: SignedIn, context: Context): void {
  const find = (caller: UserCaller, params: unknown): Promise<Configuration> =>
    getConfiguration(context, caller, idOf(params));

  newConfigurationPages(pages, context);
  editPages(pages, context, find);

  /** Sends the page; after a form that was refused, with it. */
  const send = async (
    reply: FastifyReply,
    caller: UserCaller,
    configuration: Configuration,
    query: unknown,
    forms: ConfigurationForms = {},
    refused?: Form,
  ): Promise<void> => {
    const model = await readConfigurationViewModel(context, caller, configuration, query);
    const body = configurationPage(model, forms);
    const { id, name: title } = configuration;
    const from = refused === undefined ? {} : { from: `/configurations/${id}` };
    sendPage(
      reply,
      { email: caller.email, at: "/zones", title, body, refresh, ...from },
      refused?.status,
    );
  };
  pages.get("/configurations/:id", "getConfiguration", async (caller, { params, query }, reply) => {
    await send(reply, caller, await find(caller, params), query);
  });
  /** A form of the page, where it is sent to, and where one is after it. */
  const act = (
    path: string,
    needs: Needs,
    kind: "start" | "state" | "remove" | "rule",
    work: (
      caller: UserCaller,
      configuration: Configuration,
      form: Form,
      params: unknown,
    ) => Promise<string>,
  ): void =>
    pages.post(`/configurations/:id/${path}`, needs, async (caller, { params, body }, reply) => {
      const configuration = await find(caller, params);
      const refused = await attempt(body, async () => {
        reply.redirect(await work(caller, configuration, new Form(body), params), 303);
      });
      if (refused) await send(reply, caller, configuration, {}, { [kind]: refused }, refused);
    });

  act("jobs", "plan", "start", async (caller, { id, name }, form) => {
    const job_type = form.text("job_type");
    if (job_type === "DESTROY" && form.word("confirm") !== name.trim())
      throw invalid("body.confirm", "this is not its name");
    const options = planOptionsIn(form);
    const job = validateJob({
      job_type,
      configuration_id: id,
      debug: form.isOn("debug"),
      ...options,
    });
    return `/jobs/${(await createJob(context, caller, job)).id}`;
  });
  act("approval", "administer", "rule", async (caller, { id }, form) => {
    await updateConfiguration(context, caller, id, (now) => {
      const change = validateChange({ approval: ruleIn(form, now) });
      return isDeepStrictEqual(change.approval, now.approval) ? {} : change;
    });
    return `/configurations/${id}#approvals`;
  });
  act("state/unlock", "breakStateLock", "state", async (caller, { id }) => {
    await breakStateLock(context, caller, id);
    return `/configurations/${id}#state-title`;
  });
  act("state/:serial/rollback", "rollBackState", "state", async (caller, { id }, _, params) => {
    const { serial } = params as { serial: string };
    if (!/^\d{1,15}$/.test(serial)) throw notFound("state version");
    await rollBackState(context, caller, id, Number(serial));
    return `/configurations/${id}#state-title`;
  });
  act("delete", "deleteConfiguration", "remove", async (caller, { id, zone_id }) => {
    await deleteConfiguration(context, caller, id);
    return `/zones/${zone_id}`;
  });

  entriesForms(pages, {
    path: "/configurations",
    needs: "updateConfiguration",
    kinds: entryKinds,
    find,
    update: (caller, { id }, change) => updateConfiguration(context, caller, id, change),
    send: (reply, caller, configuration, entries) =>
      send(reply, caller, configuration, {}, { entries }, entries.form),
  });
  pages.post(
    "/configurations/:id/variable-sets",
    "attachToConfiguration",
    async (caller, { params, body }, reply) => {
      const configuration = await find(caller, params);
      const { id: configuration_id } = configuration;
      const sets = await attempt(body, async () => {
        await attachOrDetach(context, caller, new Form(body), { configuration_id });
        reply.redirect(`/configurations/${configuration_id}#variable-sets`, 303);
      });
      if (sets) await send(reply, caller, configuration, {}, { sets }, sets);
    },
  );
}

function idOf(params: unknown): string {
  const { id } = params as { id: string };
  if (!validate(id)) throw notFound("configuration");
  return id;
}
