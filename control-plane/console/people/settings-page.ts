/** How a person signs in, where they are signed in, and the access tokens of their pipelines. */
import type { Login } from "../../../protocol/logins.ts";
import { titleOf } from "../../domain/providers.ts";
import type {
  ConnectedAccount,
  OfferedProvider,
} from "../../services/people/connected-accounts.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { clock } from "../page/words.ts";

export interface Settings {
  readonly email: string;
  readonly accounts: readonly ConnectedAccount[];
  readonly offered: readonly OfferedProvider[];
  readonly logins: readonly Login[];
  readonly isOperator: boolean;
  readonly accessTokens: Html;
}

export const settingsPage = ({
  email,
  accounts,
  offered,
  logins,
  isOperator,
  accessTokens,
}: Settings): Html =>
  html`<h1>Settings</h1>
    <p>
      You are <strong>${email}</strong>.
      ${isOperator ? html`<a href="/operator">People on this server</a>` : null}
    </p>
    <h2>How you sign in</h2>
    ${
      accounts.length === 0
        ? html`<p>With a link that the operator of this server creates for you.</p>`
        : table(
            "Accounts",
            ["At", "As", "Connected"],
            accounts.map(({ provider, host, email: known, connected_at }) => [
              offered.find((one) => one.provider === provider && one.host === host)?.title ??
                `${provider === "oidc" ? "OpenID Connect" : titleOf(provider)} at ${host} (sign-in there is off)`,
              known,
              clock(connected_at),
            ]),
          )
    }
    ${connections(accounts, offered)}
    <h2>Where you are signed in</h2>
    ${table(
      "Logins",
      ["What", "Since", "Until", "End it"],
      logins.map(({ id, kind, current, created_at, expires_at }) => [
        `${kind === "cli" ? "Command-line client" : "Browser"}${current ? " (this one)" : ""}`,
        clock(created_at),
        clock(expires_at),
        current
          ? "Sign out in the menu"
          : html`<form method="post" action="/settings/logins/${id}/revoke">
              <button class="quiet">Revoke</button>
            </form>`,
      ]),
    )}
    <p class="soft">
      A revoked login stops working at once, and its log streams end. To sign in a command-line
      client: <code>windlass login</code>
    </p>
    ${accessTokens}`;

const connections = (
  accounts: readonly ConnectedAccount[],
  offered: Settings["offered"],
): Html | null => {
  const open = offered.flatMap(({ name, title, provider, host }) => {
    const isOpen = accounts.every((one) => one.provider !== provider || one.host !== host);
    if (isOpen) return [{ name, what: title }];
    // A sign-in does not ask GitHub for them.
    return name === "github" ? [{ name, what: `${title} repositories` }] : [];
  });
  if (open.length === 0) return null;
  return html`<div class="actions">
    ${open.map(
      ({ name, what }) =>
        html`<a class="button quiet" href="/api/auth/login/${name}?next=/settings"
          >Connect ${what}</a
        >`,
    )}
  </div>`;
};
