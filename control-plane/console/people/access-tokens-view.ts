import type { AccessToken, CreatedAccessToken } from "../../../protocol/access-tokens.ts";
import { accessTokenDaysDefault } from "../../../protocol/limits.ts";
import type { Role } from "../../../protocol/roles.ts";
import type { ZoneName } from "../../services/zones/zones.ts";
import { columns, line, trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { copyButton, copyScript, secret } from "../page/secret.ts";
import { table } from "../page/table.ts";
import { ago, clock } from "../page/words.ts";
import { roleFields, rolesOf, rolesWords } from "../teams/zone-role-fields.ts";

/** The fields of the form for a new token, for a reader who may give it these roles. */
export const newTokenFields = (givable: readonly Role[]) => ({
  role: givable.includes("planner") ? "planner" : "viewer",
  days: String(accessTokenDaysDefault),
});

/** The input of such a form; the schema of the API checks it. */
export function tokenOf(form: Form): unknown {
  const days = form.word("days");
  return {
    name: form.word("name"),
    ...rolesOf(form),
    // The schema refuses what is not a number.
    ...(days === "" ? {} : { expires_in_days: /^\d+$/.test(days) ? Number(days) : days }),
  };
}

/** The list, and the form for one more. `givable`: the roles that the reader may give to it. */
export const accessTokensSection = (
  tokens: readonly AccessToken[],
  { givable, zones }: { readonly givable: readonly Role[]; readonly zones: readonly ZoneName[] },
  form: Form,
  now: string,
): Html =>
  html`<h2 id="access-tokens">Access tokens</h2>
    <p class="soft">
      A pipeline uses an access token in place of a sign-in. It may do what its role permits, and it
      cannot manage access tokens or logins. A revoked token stops working at once. These are the
      tokens of the space that is chosen in the menu, and they act only in it.
    </p>
    ${
      tokens.length === 0
        ? html`<p>
            No access token yet. Create one below, and store it as a secret of your pipeline.
          </p>`
        : table(
            "Access tokens",
            ["Name", "Role", "Token", "Created", "Expires", "Last used", "Revoke"],
            tokens.map((token) => [
              token.name,
              tokenRoles(token, zones),
              html`<code>${token.prefix}…</code>`,
              html`${clock(token.created_at)} by ${token.created_by}`,
              token.expires_at > now ? clock(token.expires_at) : "expired",
              lastUse(token, now),
              html`<form method="post" action="/settings/access-tokens/${token.id}/revoke">
                <button class="quiet" aria-label="Revoke ${token.name}">Revoke</button>
              </form>`,
            ]),
          )
    }
    <h3>New access token</h3>
    <form method="post" action="/settings/access-tokens" class="form">
      ${trouble(form, ["name", "role", "zone", "zone_role", "expires_in_days"])}
      ${line(form, {
        name: "name",
        label: "Name",
        placeholder: "github-actions",
        hint: "Where it is used.",
        required: true,
      })}
      ${columns(
        ...roleFields(form, zones, givable),
        line(form, {
          name: "days",
          label: "Valid for (days)",
          path: "expires_in_days",
          hint: "At most 365.",
          numeric: true,
        }),
      )}
      <p><button>Create the token</button></p>
    </form>`;

const tokenRoles = (token: AccessToken, zones: readonly ZoneName[]): string =>
  `${rolesWords(token, zones)}${token.configurations === null ? "" : `, only ${token.configurations.length} of its configurations`}`;

const lastUse = ({ last_used_at, last_used_from }: AccessToken, now: string): Html | string =>
  last_used_at === null ? "never" : html`${ago(last_used_at, now)} from ${last_used_from ?? "–"}`;

/** A new token, which is shown this once. */
export const createdTokenPage = (
  { name, access_token, expires_at, ...given }: CreatedAccessToken,
  zones: readonly ZoneName[],
  url: string,
): Html =>
  html`<nav class="trail" aria-label="Above"><a href="/settings">Settings</a></nav>
    <h1>A new access token</h1>
    <p>
      The token <strong>${name}</strong> has the role ${rolesWords(given, zones)} and expires
      ${clock(expires_at)}. It is shown only once.
    </p>
    ${secret(access_token)}
    <h2>In your pipeline</h2>
    <p>Store the token as a secret with the name <code>WINDLASS_TOKEN</code>, and set:</p>
    <pre class="log" tabindex="0" id="settings">WINDLASS_URL=${url}</pre>
    ${copyButton("settings", "Copy the setting")}
    <p>
      Then the commands of the client work there, as far as its role permits. Begin with
      <code>windlass whoami</code>.
    </p>
    <p><a href="/settings#access-tokens">To the access tokens</a></p>
    ${copyScript}`;
