import type { Configuration } from "../../../protocol/configurations.ts";
import type { UserCaller } from "../../services/callers.ts";
import { listIdentityNames } from "../../services/identities/identities.ts";
import { createConfiguration } from "../../services/configurations/configurations.ts";
import { updateConfiguration } from "../../services/configurations/update.ts";
import type { Context } from "../../services/context.ts";
import { getZoneName, listZoneNames } from "../../services/zones/zones.ts";
import { configurationForm } from "./configuration-form.ts";
import { changeOf, described, emptyFields, fieldsOf } from "./configuration-input.ts";
import { markOf } from "../page/form.ts";
import { html } from "../page/html.ts";
import { idIn } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { mebibyte } from "../../../common/units.ts";

/** Inline files are a megabyte at most, which a form writes as up to three. */
export const formLimit = 4 * mebibyte;
const most = 1000;

const frame = { at: "/zones" };

export const newConfigurationPages = (pages: SignedIn, context: Context) =>
  pages
    .page("/zones/:id/new", "createConfiguration", {
      find: (caller: UserCaller, params) => getZoneName(context, caller, idIn(params, "zone")),
      draw: async (zone, { caller, forms }) => {
        const identities = await listIdentityNames(context, caller, most);
        const action = `/zones/${zone.id}/new`;
        const choices = { zones: [], identities };
        const form = forms("create", emptyFields);
        return {
          ...frame,
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
      },
    })
    .form("create", "createConfiguration", {
      bodyLimit: formLimit,
      input: (form, { id }) => ({ ...described(form), zone_id: id }),
      submit: async ({ caller, input }) =>
        `/configurations/${(await createConfiguration(context, caller, input())).id}`,
    });

/** Adds `/configurations/{id}/edit`; `find` reads the configuration that the address names. */
export const editPages = (
  pages: SignedIn,
  context: Context,
  find: (caller: UserCaller, params: unknown) => Promise<Configuration>,
) =>
  pages
    .page("/configurations/:id/edit", "updateConfiguration", {
      find,
      draw: async (known, { caller, forms }) => {
        const [zones, identities] = await Promise.all([
          listZoneNames(context, caller, most),
          listIdentityNames(context, caller, most),
        ]);
        const action = `/configurations/${known.id}/edit`;
        const zone = zones.find(({ id }) => id === known.zone_id);
        const fields = fieldsOf(known);
        return {
          ...frame,
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
            ${configurationForm(forms("edit", fields), action, "Save", { zones, identities }, markOf(fields))}`,
        };
      },
    })
    .form("edit", "updateConfiguration", {
      bodyLimit: formLimit,
      seen: fieldsOf,
      input: changeOf,
      submit: async ({ caller, thing: { id }, input }) => {
        await updateConfiguration(context, caller, id, input);
        return `/configurations/${id}/settings`;
      },
    });
