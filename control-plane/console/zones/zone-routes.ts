/** The pages of zones, and what a person does with them. */
import { validate } from "uuid";
import { CreateZone, type Zone } from "../../../protocol/configurations.ts";
import type { UserCaller } from "../../auth/callers.ts";
import { notFound } from "../../problem.ts";
import { deleteZone, updateZone } from "../../services/configuration-changes.ts";
import { createZone, getZone, listZones } from "../../services/configurations.ts";
import type { Context } from "../../services/context.ts";
import { judge } from "../../judge.ts";
import { attempt, Form, refuseStale } from "../page/form.ts";
import { sendPage } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";
import { zonePage, zonesPage } from "./zones-page.ts";

const shown = 100;
const refresh = 10;
const judgeZone = judge(CreateZone);

const frame = ({ email }: UserCaller) => ({ email, at: "/zones", refresh });
const zoneOf = (fields: unknown) => judgeZone({ name: new Form(fields).word("name") });

const page = (caller: UserCaller, zone: Zone, forms: { rename?: Form; remove?: Form } = {}) => {
  const rename = forms.rename ?? new Form({ name: zone.name });
  const body = zonePage(zone, rename, forms.remove ?? new Form());
  return { ...frame(caller), title: zone.name, body, from: `/zones/${zone.id}` };
};

/** Adds them. */
export function zonePages(signedIn: SignedIn, context: Context): void {
  const list = async (caller: UserCaller, query: unknown, form: Form) => {
    const { before } = query as { before?: unknown };
    const from = typeof before === "string" && validate(before) ? before : undefined;
    const zones = await listZones(context, caller, from, shown + 1);
    const next = zones.length > shown ? zones[shown - 1]?.id : undefined;
    const body = zonesPage(zones.slice(0, shown), next, form);
    return { ...frame(caller), title: "Zones", body };
  };
  signedIn("GET", "/zones", async (caller, { query }, reply) => {
    sendPage(reply, await list(caller, query, new Form()));
  });
  signedIn("POST", "/zones", async (caller, { body, query }, reply) => {
    const form = await attempt(body, async () => {
      const { id } = await createZone(context, caller, zoneOf(body));
      reply.redirect(`/zones/${id}`, 303);
    });
    if (form) sendPage(reply, await list(caller, query, form), form.status);
  });

  signedIn("GET", "/zones/:id", async (caller, { params }, reply) => {
    sendPage(reply, page(caller, await getZone(context, caller, zoneIdOf(params))));
  });
  signedIn("POST", "/zones/:id", async (caller, { params, body }, reply) => {
    const zone = await getZone(context, caller, zoneIdOf(params));
    const rename = await attempt(body, async () => {
      await updateZone(context, caller, zone.id, ({ name }) => {
        refuseStale(new Form(body), { name });
        return zoneOf(body);
      });
      reply.redirect(`/zones/${zone.id}`, 303);
    });
    if (rename) sendPage(reply, page(caller, zone, { rename }), rename.status);
  });
  signedIn("POST", "/zones/:id/delete", async (caller, { params }, reply) => {
    const zone = await getZone(context, caller, zoneIdOf(params));
    const remove = await attempt({}, async () => {
      await deleteZone(context, caller, zone.id);
      reply.redirect("/zones", 303);
    });
    if (remove) sendPage(reply, page(caller, zone, { remove }), remove.status);
  });
}

/** The zone that an address names; what is no id names none. */
export function zoneIdOf(params: unknown): string {
  const { id } = params as { id: string };
  if (!validate(id)) throw notFound("zone");
  return id;
}
