/** How a person signs in, and where they are signed in. */
import type { Login } from "../../../protocol/logins.ts";
import { providerTitles, type ProviderName } from "../../domain/providers.ts";
import type { ConnectedAccount } from "../../services/accounts.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { clock } from "../page/words.ts";

export interface Settings {
  readonly email: string;
  readonly accounts: readonly ConnectedAccount[];
  /** The providers that this server is set up for. */
  readonly offered: readonly ProviderName[];
  readonly logins: readonly Login[];
}

/** The whole page. */
export const settingsPage = ({ email, accounts, offered, logins }: Settings): Html =>
  html`<h1>Settings</h1>
    <p>You are <strong>${email}</strong>.</p>
    <h2>How you sign in</h2>
    ${
      accounts.length === 0
        ? html`<p>With a link that whoever runs this server makes for you.</p>`
        : table(
            "Accounts",
            ["At", "As", "Connected"],
            accounts.map(({ provider, email: known, connected_at }) => [
              providerTitles[provider],
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
          ? "Sign out above"
          : html`<form method="post" action="/settings/logins/${id}/revoke">
              <button class="quiet">Revoke</button>
            </form>`,
      ]),
    )}
    <p class="soft">
      A login that is revoked is refused at once, and its log streams end. To sign in a command-line
      client: <code>windlass login</code>
    </p>`;

/** The ways to connect one more. */
const connections = (
  accounts: readonly ConnectedAccount[],
  offered: readonly ProviderName[],
): Html | null => {
  const open = offered.filter((name) => accounts.every(({ provider }) => provider !== name));
  if (open.length === 0) return null;
  return html`<div class="actions">
    ${open.map(
      (name) =>
        html`<a class="button quiet" href="/api/auth/login/${name}?next=/settings"
          >Connect ${providerTitles[name]}</a
        >`,
    )}
  </div>`;
};
