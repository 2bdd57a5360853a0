/** The pages with the form of a new and of an existing configuration. */
import {
  CreateConfiguration,
  UpdateConfiguration,
  type Configuration,
} from "../../../protocol/configurations.ts";
import type { UserCaller } from "../../services/callers.ts";
import { listCloudIdentities } from "../../services/identities/identities.ts";
import { createConfiguration } from "../../services/configurations/configurations.ts";
import { updateConfiguration } from "../../services/configurations/update.ts";
import type { Context } from "../../services/context.ts";
import { getZoneName, listZoneNames, type ZoneName } from "../../services/zones/zones.ts";
import { configurationForm } from "./configuration-form.ts";
import { changeOf, described, emptyForm, formOf } from "./configuration-input.ts";
import { formValidatorOf } from "../../domain/validator-of.ts";
import { attempt, Form, markOf } from "../page/form.ts";
import { html } from "../page/html.ts";
import type { Page } from "../page/layout.ts";
import { sendPage } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";
import { zoneIdOf } from "../zones/zone-routes.ts";
import { mebibyte } from "../../../common/units.ts";

/** Inline files are a megabyte at most, which a form writes as up to three. */
export const formLimit = 4 * mebibyte;
const most = 1000;

const validateNew = formValidatorOf(CreateConfiguration);
const validateChange = formValidatorOf(UpdateConfiguration);

const frame = ({ email }: UserCaller) => ({ email, at: "/zones" });

export function newConfigurationPages(pages: SignedIn, context: Context): void {
  const page = async (caller: UserCaller, zone: ZoneName, form: Form): Promise<Page> => {
    const identities = await listCloudIdentities(context, caller, undefined, most);
    const action = `/zones/${zone.id}/new`;
    const choices = { zones: [], identities };
    return {
      ...frame(caller),
      title: "New configuration",
      body: html`<nav class="trail" aria-label="Above">
          <a href="/zones">Zones</a> / <a href="/zones/${zone.id}">${zone.name}</a>
        </nav>
        <h1>New configuration</h1>
        <p class="soft">
          Nothing runs yet. On the page of the configuration you can then set its variables and
          start a Plan.
        </p>
        ${configurationForm(form, action, "Create the configuration", choices)}`,
    };
  };
  pages.get("/zones/:id/new", "createConfiguration", async (caller, { params }, reply) => {
    const zone = await getZoneName(context, caller, zoneIdOf(params));
    sendPage(reply, await page(caller, zone, emptyForm));
  });
  pages.post(
    "/zones/:id/new",
    "createConfiguration",
    async (caller, { params, body }, reply) => {
      const zone = await getZoneName(context, caller, zoneIdOf(params));
      const form = await attempt(body, async () => {
        const input = validateNew({ ...described(new Form(body)), zone_id: zone.id });
        const { id } = await createConfiguration(context, caller, input);
        reply.redirect(`/configurations/${id}`, 303);
      });
      if (form) sendPage(reply, await page(caller, zone, form), form.status);
    },
    { bodyLimit: formLimit },
  );
}

/** Adds `/configurations/{id}/edit`; `find` reads the configuration that the address names. */
export function editPages(
  pages: SignedIn,
  context: Context,
  find: (caller: UserCaller, params: unknown) => Promise<Configuration>,
): void {
  const page = async (caller: UserCaller, known: Configuration, form: Form): Promise<Page> => {
    const [zones, identities] = await Promise.all([
      listZoneNames(context, caller, most),
      listCloudIdentities(context, caller, undefined, most),
    ]);
    const action = `/configurations/${known.id}/edit`;
    const zone = zones.find(({ id }) => id === known.zone_id);
    return {
      ...frame(caller),
      title: `Edit ${known.name}`,
      body: html`<nav class="trail" aria-label="Above">
          <a href="/zones">Zones</a> /
          ${zone && html`<a href="/zones/${zone.id}">${zone.name}</a> / `}
          <a href="/configurations/${known.id}">${known.name}</a>
        </nav>
        <h1>Edit ${known.name}</h1>
        <p class="soft">
          Existing jobs keep the settings with which they were created. After a change, earlier
          plans can no longer be deployed.
        </p>
        ${configurationForm(form, action, "Save", { zones, identities }, markOf(formOf(known).fields))}`,
    };
  };
  pages.get(
    "/configurations/:id/edit",
    "updateConfiguration",
    async (caller, { params }, reply) => {
      const known = await find(caller, params);
      sendPage(reply, await page(caller, known, formOf(known)));
    },
  );
  pages.post(
    "/configurations/:id/edit",
    "updateConfiguration",
    async (caller, { params, body }, reply) => {
      const known = await find(caller, params);
      const form = await attempt(body, async () => {
        await updateConfiguration(context, caller, known.id, (now) =>
          validateChange(changeOf(new Form(body), now)),
        );
        reply.redirect(`/configurations/${known.id}`, 303);
      });
      if (form) sendPage(reply, await page(caller, known, form), form.status);
    },
    { bodyLimit: formLimit },
  );
}
