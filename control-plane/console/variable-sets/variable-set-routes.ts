import { validate } from "uuid";
import type { UserCaller } from "../../services/callers.ts";
import { invalid } from "../../domain/refusal.ts";
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
} from "../../services/variable-sets/variable-sets.ts";
import { listZoneNames } from "../../services/zones/zones.ts";
import { entriesForms } from "../configurations/entries-routes.ts";
import type { Form } from "../page/form.ts";
import { idIn, readList } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { isAttaching } from "./attach-input.ts";
import { variableSetPage, variableSetsPage } from "./variable-sets-page.ts";
import { time } from "../../domain/moments.ts";

const shown = 100;
const most = 1000;
/** Attached configurations with a strip of their last runs. */
const stripsShown = 50;

const frame = { at: "/variable-sets" };
const nameIn = (form: Form) => ({ name: form.word("name") });

export function variableSetPages(pages: SignedIn, context: Context): void {
  pages
    .page("/variable-sets", "listVariableSets", {
      draw: async (_, { caller, request, forms }) => {
        const sets = await readList(request.query, shown, (before, limit) =>
          listVariableSetSummaries(context, caller, before, limit),
        );
        const body = variableSetsPage(sets, forms("create"));
        return { ...frame, title: "Variable sets", body };
      },
    })
    .form("create", "createVariableSet", {
      input: nameIn,
      submit: async ({ caller, input }) =>
        `/variable-sets/${(await createVariableSet(context, caller, input())).id}`,
    });

  const page = pages
    .page("/variable-sets/:id", "getVariableSet", {
      find: (caller: UserCaller, params) =>
        getVariableSet(context, caller, idIn(params, "variable set")),
      draw: async (set, { caller, forms }) => {
        const [marks, attachments, zones] = await Promise.all([
          readSetMarks(context, caller, set.id),
          listAttachments(context, caller, set.id),
          listZoneNames(context, caller, most),
        ]);
        const configurations = attachments.filter(({ level }) => level === "configuration");
        const ids = configurations.slice(0, stripsShown).map(({ id }) => id);
        const runs = await listRuns(context, ids);
        const now = time(context.now());
        const body = variableSetPage({ set, marks, attachments, runs, zones, now }, forms);
        return { ...frame, title: set.name, body };
      },
    })
    .form("rename", "updateVariableSet", {
      seen: ({ name }: { readonly name: string }) => ({ name }),
      input: nameIn,
      submit: async ({ caller, thing: { id }, input }) => {
        await updateVariableSet(context, caller, id, input);
        return `/variable-sets/${id}`;
      },
    })
    .form("zone", "attachToZone", {
      path: "/zones",
      submit: async ({ caller, thing: { id }, form }) => {
        const zone_id = form.word("zone");
        if (!validate(zone_id)) throw invalid("body.zone", "is missing: choose a zone");
        await setAttached(context, caller, id, { zone_id }, isAttaching(form));
        return `/variable-sets/${id}#attached`;
      },
    })
    .form("configuration", "attachToConfiguration", {
      path: "/configurations",
      submit: async ({ caller, thing: { id }, form }) => {
        const name = form.word("configuration");
        if (name === "") throw invalid("body.configuration", "must not be empty");
        const { id: configuration_id } = await getConfiguration(context, caller, name);
        await setAttached(context, caller, id, { configuration_id }, isAttaching(form));
        return `/variable-sets/${id}#attached`;
      },
    })
    .form("remove", "deleteVariableSet", {
      path: "/delete",
      submit: async ({ caller, thing: { id } }) => {
        await deleteVariableSet(context, caller, id);
        return "/variable-sets";
      },
    });
  entriesForms(page, {
    page: ({ id }) => `/variable-sets/${id}`,
    does: "updateVariableSet",
    kinds: valueKinds,
    update: (caller, { id }, change) => updateVariableSet(context, caller, id, change),
  });
}
