/** The pages of zones, and what a person does with them. */
import { validate } from "uuid";
import { CreateZone } from "../../../protocol/configurations.ts";
import type { UserCaller } from "../../services/callers.ts";
import { notFound } from "../../domain/refusal.ts";
import type { Context } from "../../services/context.ts";
import {
  createZone,
  getZone,
  listConfigurationSummaries,
  listZoneSummaries,
  type BareZone,
  deleteZone,
  updateZone,
} from "../../services/zones/zones.ts";
import { listRuns } from "../../services/jobs/runs.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { attempt, Form, refuseStale } from "../page/form.ts";
import { sendPage } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";
import { listSetsOfZone } from "../../services/variable-sets/attached.ts";
import { listVariableSetNames } from "../../services/variable-sets/lists.ts";
import { attachOrDetach } from "../variable-sets/attach-input.ts";
import { zonePage, zonesPage, type ZoneForms } from "./zones-page.ts";

const shown = 100;
/** Fewer, because each has a strip of its last runs. */
const configurationsShown = 50;
/** Variable sets that can be chosen. */
const mostSets = 1000;
const refresh = 10;
const validateZone = validatorOf(CreateZone);

const frame = ({ email }: UserCaller) => ({ email, at: "/zones", refresh });
const zoneOf = (fields: unknown) => validateZone({ name: new Form(fields).word("name") });

export function zonePages(pages: SignedIn, context: Context): void {
  const page = async (
    caller: UserCaller,
    zone: BareZone,
    query: unknown,
    forms: Partial<ZoneForms> = {},
  ) => {
    const from = beforeOf(query);
    const limit = configurationsShown;
    const found = await listConfigurationSummaries(context, caller, zone.id, from, limit + 1);
    const configurations = found.slice(0, limit);
    const runs = await listRuns(
      context,
      configurations.map(({ id }) => id),
    );
    const next = found.length > limit ? configurations.at(-1)?.id : undefined;
    const now = new Date(context.now()).toISOString();
    const rename = new Form({ name: zone.name });
    const sets = await listSetsOfZone(context, caller, zone.id);
    const all = await listVariableSetNames(context, caller, mostSets);
    const spaces = caller.spaces.filter(
      ({ space_id, role }) => role === "admin" && space_id !== caller.space_id,
    );
    const model = { zone, configurations, runs, next, sets: { ...sets, all }, spaces, now };
    const empty = { move: new Form(), remove: new Form(), sets: new Form() };
    const body = zonePage(model, { rename, ...empty, ...forms });
    return { ...frame(caller), title: zone.name, body, from: `/zones/${zone.id}` };
  };
  const list = async (caller: UserCaller, query: unknown, form: Form) => {
    const zones = await listZoneSummaries(context, caller, beforeOf(query), shown + 1);
    const next = zones.length > shown ? zones[shown - 1]?.id : undefined;
    const body = zonesPage(zones.slice(0, shown), next, form);
    return { ...frame(caller), title: "Zones", body };
  };
  pages.get("/zones", "listZones", async (caller, { query }, reply) => {
    sendPage(reply, await list(caller, query, new Form()));
  });
  pages.post("/zones", "createZone", async (caller, { body, query }, reply) => {
    const form = await attempt(body, async () => {
      const { id } = await createZone(context, caller, zoneOf(body));
      reply.redirect(`/zones/${id}`, 303);
    });
    if (form) sendPage(reply, await list(caller, query, form), form.status);
  });

  pages.get("/zones/:id", "getZone", async (caller, { params, query }, reply) => {
    const zone = await getZone(context, caller, zoneIdOf(params));
    sendPage(reply, await page(caller, zone, query));
  });
  pages.post("/zones/:id", "updateZone", async (caller, { params, body }, reply) => {
    const zone = await getZone(context, caller, zoneIdOf(params));
    const rename = await attempt(body, async () => {
      await updateZone(context, caller, zone.id, ({ name }) => {
        refuseStale(new Form(body), { name });
        return zoneOf(body);
      });
      reply.redirect(`/zones/${zone.id}`, 303);
    });
    if (rename) sendPage(reply, await page(caller, zone, {}, { rename }), rename.status);
  });
  pages.post(
    "/zones/:id/variable-sets",
    "attachToZone",
    async (caller, { params, body }, reply) => {
      const zone = await getZone(context, caller, zoneIdOf(params));
      const sets = await attempt(body, async () => {
        await attachOrDetach(context, caller, new Form(body), { zone_id: zone.id });
        reply.redirect(`/zones/${zone.id}#variable-sets`, 303);
      });
      if (sets) sendPage(reply, await page(caller, zone, {}, { sets }), sets.status);
    },
  );
  pages.post("/zones/:id/team", "administer", async (caller, { params, body }, reply) => {
    const zone = await getZone(context, caller, zoneIdOf(params));
    const move = await attempt(body, async () => {
      const team = new Form(body).text("team");
      await updateZone(context, caller, zone.id, { team: team === "" ? null : team });
      reply.redirect(`/zones/${zone.id}`, 303);
    });
    if (move) sendPage(reply, await page(caller, zone, {}, { move }), move.status);
  });
  pages.post("/zones/:id/delete", "deleteZone", async (caller, { params }, reply) => {
    const zone = await getZone(context, caller, zoneIdOf(params));
    const remove = await attempt({}, async () => {
      await deleteZone(context, caller, zone.id);
      reply.redirect("/zones", 303);
    });
    if (remove) sendPage(reply, await page(caller, zone, {}, { remove }), remove.status);
  });
}

/** Where a page of a list begins; what is no id begins at the newest. */
function beforeOf(query: unknown): string | undefined {
  const { before } = query as { before?: unknown };
  return typeof before === "string" && validate(before) ? before : undefined;
}

/** The zone that an address names; what is no id names none. */
export function zoneIdOf(params: unknown): string {
  const { id } = params as { id: string };
  if (!validate(id)) throw notFound("zone");
  return id;
}
