/** The pages of variable sets, and what a person does with them. */
import type { FastifyReply } from "fastify";
import { validate } from "uuid";
import {
  CreateVariableSet,
  UpdateVariableSet,
  type VariableSet,
} from "../../../protocol/variable-sets.ts";
import type { UserCaller } from "../../services/callers.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { invalid, notFound } from "../../domain/refusal.ts";
import { valueKinds } from "../../domain/variable-sets.ts";
import { getConfiguration } from "../../services/configurations/configurations.ts";
import type { Context } from "../../services/context.ts";
import { listRuns } from "../../services/jobs/runs.ts";
import { listAttachments, listVariableSetSummaries } from "../../services/variable-sets/lists.ts";
import {
  createVariableSet,
  deleteVariableSet,
  getVariableSet,
  readSetMarks,
  setAttached,
  updateVariableSet,
  type Target,
} from "../../services/variable-sets/variable-sets.ts";
import { listZoneNames } from "../../services/zones/zones.ts";
import { entriesForms } from "../configurations/entries-routes.ts";
import { attempt, Form, refuseStale } from "../page/form.ts";
import { sendPage } from "../page/layout.ts";
import type { Needs } from "../page-permissions.ts";
import type { SignedIn } from "../signed-in.ts";
import { isAttaching } from "./attach-input.ts";
import { variableSetPage, variableSetsPage, type VariableSetForms } from "./variable-sets-page.ts";

const shown = 100;
const most = 1000;
/** Attached configurations with a strip of their last runs. */
const stripsShown = 50;
const validateNew = validatorOf(CreateVariableSet);
const validateChange = validatorOf(UpdateVariableSet);

const frame = ({ email }: UserCaller) => ({ email, at: "/variable-sets" });
const typed = (fields: unknown) => ({ name: new Form(fields).word("name") });

export function variableSetPages(pages: SignedIn, context: Context): void {
  const list = async (caller: UserCaller, query: unknown, form: Form) => {
    const { before } = query as { before?: unknown };
    const from = typeof before === "string" && validate(before) ? before : undefined;
    const sets = await listVariableSetSummaries(context, caller, from, shown + 1);
    const next = sets.length > shown ? sets[shown - 1]?.id : undefined;
    const body = variableSetsPage(sets.slice(0, shown), next, form);
    return { ...frame(caller), title: "Variable sets", body };
  };
  pages.get("/variable-sets", "listVariableSets", async (caller, { query }, reply) => {
    sendPage(reply, await list(caller, query, new Form()));
  });
  pages.post("/variable-sets", "createVariableSet", async (caller, { body, query }, reply) => {
    const form = await attempt(body, async () => {
      const { id } = await createVariableSet(context, caller, validateNew(typed(body)));
      reply.redirect(`/variable-sets/${id}`, 303);
    });
    if (form) sendPage(reply, await list(caller, query, form), form.status);
  });

  const find = (caller: UserCaller, params: unknown): Promise<VariableSet> => {
    const { id } = params as { id: string };
    if (!validate(id)) throw notFound("variable set");
    return getVariableSet(context, caller, id);
  };
  /** Sends the page; after a form that was refused, with it. */
  const send = async (
    reply: FastifyReply,
    caller: UserCaller,
    set: VariableSet,
    forms: VariableSetForms = {},
    refused?: Form,
  ): Promise<void> => {
    const [marks, attachments, zones] = await Promise.all([
      readSetMarks(context, caller, set.id),
      listAttachments(context, caller, set.id),
      listZoneNames(context, caller, most),
    ]);
    const configurations = attachments.filter(({ level }) => level === "configuration");
    const runs = await listRuns(
      context,
      configurations.slice(0, stripsShown).map(({ id }) => id),
    );
    const now = new Date(context.now()).toISOString();
    const body = variableSetPage({ set, marks, attachments, runs, zones, now }, forms);
    const from = `/variable-sets/${set.id}`;
    sendPage(reply, { ...frame(caller), title: set.name, body, from }, refused?.status);
  };
  pages.get("/variable-sets/:id", "getVariableSet", async (caller, { params }, reply) => {
    await send(reply, caller, await find(caller, params));
  });
  /** A form of the page, where it is sent to, and where one is after it. */
  const act = (
    path: string,
    needs: Needs,
    kind: "rename" | "zone" | "configuration" | "remove",
    work: (caller: UserCaller, id: string, form: Form) => Promise<string>,
  ): void =>
    pages.post(`/variable-sets/:id${path}`, needs, async (caller, { params, body }, reply) => {
      const set = await find(caller, params);
      const refused = await attempt(
        body,
        async () => {
          reply.redirect(await work(caller, set.id, new Form(body)), 303);
        },
        kind,
      );
      if (refused) await send(reply, caller, set, { [kind]: refused }, refused);
    });
  const attach = async (caller: UserCaller, id: string, form: Form, target: Target) => {
    await setAttached(context, caller, id, target, isAttaching(form));
    return `/variable-sets/${id}#attached`;
  };

  act("", "updateVariableSet", "rename", async (caller, id, form) => {
    await updateVariableSet(context, caller, id, ({ name }) => {
      refuseStale(form, { name });
      return validateChange(typed(form.fields));
    });
    return `/variable-sets/${id}`;
  });
  act("/zones", "attachToZone", "zone", (caller, id, form) => {
    const zone_id = form.word("zone");
    if (!validate(zone_id)) throw invalid("body.zone", "is missing: choose a zone");
    return attach(caller, id, form, { zone_id });
  });
  act("/configurations", "attachToConfiguration", "configuration", async (caller, id, form) => {
    const name = form.word("configuration");
    if (name === "") throw invalid("body.configuration", "must not be empty");
    const { id: configuration_id } = await getConfiguration(context, caller, name);
    return attach(caller, id, form, { configuration_id });
  });
  act("/delete", "deleteVariableSet", "remove", async (caller, id) => {
    await deleteVariableSet(context, caller, id);
    return "/variable-sets";
  });
  entriesForms(pages, {
    path: "/variable-sets",
    needs: "updateVariableSet",
    kinds: valueKinds,
    find,
    update: (caller, { id }, change) => updateVariableSet(context, caller, id, change),
    send: (reply, caller, set, entries) => send(reply, caller, set, { entries }, entries.form),
  });
}
