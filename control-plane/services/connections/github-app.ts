/** An App at GitHub, made from a manifest that a person sends there. */
import { isIP } from "node:net";
import type { Connection } from "../../../protocol/connections.ts";
import { githubEventNames } from "../../code-hosts/github.ts";
import { exchangeAppCode } from "../../code-hosts/kinds.ts";
import { invalid } from "../../domain/refusal.ts";
import { updateConnection } from "../../store/connections/connections.ts";
import { hintLook } from "../../store/connections/follows.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { eventsUrl, findRow, pem } from "./connections.ts";
import { refusing } from "./hosts.ts";
import { openSecrets, sealSecrets } from "./secrets.ts";

/** GitHub's limit of an App's name, which no other App of the host may have. */
const nameLimit = 34;

/** What GitHub makes an App from. */
export function appManifest(context: Context, { id, name }: Connection): object {
  const page = `${context.publicUrl()}/connections/${id}`;
  return {
    name: `Windlass ${name}`.slice(0, nameLimit),
    url: context.publicUrl(),
    redirect_url: `${page}/app`,
    // Where a person comes back to after the installation.
    setup_url: page,
    // For its owner's account alone.
    public: false,
    default_permissions: {
      metadata: "read",
      contents: "read",
      pull_requests: "write",
      statuses: "write",
      merge_queues: "read",
    },
    // GitHub could not reach another address, and then the poller alone sees what changes.
    ...(isPublic(context.publicUrl())
      ? {
          hook_attributes: { url: eventsUrl(context, id), active: true },
          default_events: githubEventNames,
        }
      : {}),
  };
}

function isPublic(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  const isName = hostname.includes(".") && isIP(hostname) === 0;
  return protocol === "https:" && isName && !/\.(local|localhost|internal|test)$/.test(hostname);
}

/** Keeps the App that GitHub made, in place of an earlier one. Returns where to install it. */
export async function keepApp(
  context: Context,
  user: UserCaller,
  id: string,
  code: string,
): Promise<string> {
  const row = await findRow(context.store.read, user, id);
  checkIsApp(row);
  const app = await refusing(exchangeAppCode(context.outbound, row.api_url, code));
  await context.store.write(async (tx) => {
    const now = await findRow(tx, user, id);
    const { installation_id: _, ...before } = openSecrets(context, now);
    const secrets = sealSecrets(context, row.id, {
      ...before,
      app_id: String(app.id),
      private_key: pem(app.pem),
      ...(app.webhook_secret === null ? {} : { webhook_secret: app.webhook_secret }),
    });
    const at = context.now();
    const change = { secrets, account: app.name, error: null, error_since: null };
    await updateConnection(tx, row.id, { ...change, quiet_until: 0, updated_at: at });
    await hintLook(tx, row.id, at);
    const target = { id: row.id, name: row.name, details: { fields: ["app"] } };
    await recordOwn(tx, user, { action: "connection.update", ...target }, at);
  });
  // An address that the host names leads nowhere else.
  return app.html_url.startsWith(`${row.base_url}/`)
    ? `${app.html_url}/installations/new`
    : `/connections/${row.id}`;
}

/** Throws for a connection of another kind. */
export function checkIsApp({ kind }: Pick<Connection, "kind">): void {
  if (kind !== "github_app") throw invalid("id", "must be a connection of the kind github_app");
}
