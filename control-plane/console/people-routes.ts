/** Where one is signed in, and what was done to one's things. */
import { validate } from "uuid";
import type { AuditEntry } from "../../protocol/audit.ts";
import type { Login } from "../../protocol/logins.ts";
import { notFound } from "../problem.ts";
import { listAuditEntries } from "../services/audit.ts";
import type { Context } from "../services/context.ts";
import { endOwnLogin, listLogins } from "../services/login-lists.ts";
import { html, type Html } from "./html.ts";
import { sendPage } from "./layout.ts";
import type { SignedIn } from "./signed-in.ts";
import { table } from "./table.ts";
import { clock } from "./words.ts";

const shown = 100;

/** Adds `/settings` and `/audit`. */
export function peoplePages(signedIn: SignedIn, context: Context): void {
  signedIn("GET", "/settings", async (caller, _, reply) => {
    const body = settingsPage(caller.email, await listLogins(context, caller, undefined, 1000));
    sendPage(reply, { title: "Settings", body, email: caller.email, at: "/settings" });
  });
  signedIn("POST", "/settings/logins/:id/revoke", async (caller, { params }, reply) => {
    const { id } = params as { id: string };
    if (!validate(id)) throw notFound("login");
    await endOwnLogin(context, caller, id);
    reply.redirect("/settings", 303);
  });
  signedIn("GET", "/audit", async (caller, { query }, reply) => {
    const { before } = query as { before?: unknown };
    const from = typeof before === "string" && validate(before) ? before : undefined;
    const entries = await listAuditEntries(context, caller, {}, from, shown + 1);
    const next = entries.length > shown ? entries[shown - 1]?.id : undefined;
    const body = auditPage(entries.slice(0, shown), next);
    sendPage(reply, { title: "Audit", body, email: caller.email, at: "/audit" });
  });
}

const settingsPage = (email: string, logins: readonly Login[]): Html =>
  html`<h1>Settings</h1>
    <p>You are <strong>${email}</strong>.</p>
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
    )}`;

const auditPage = (entries: readonly AuditEntry[], next: string | undefined): Html =>
  html`<h1>Audit</h1>
    <p class="soft">Who did what to your things, when and from where; newest first.</p>
    ${
      entries.length === 0
        ? html`<p class="soft">Nothing yet.</p>`
        : table(
            "Audit log",
            ["When", "Who", "What", "To", "From", "Details"],
            entries.map(({ created_at, actor, action, target, ip_address, details }) => [
              clock(created_at),
              actor.name ?? actor.kind.replaceAll("_", " "),
              html`<code>${action}</code>`,
              target.name ?? target.id ?? "–",
              ip_address ?? "–",
              html`<span class="clamp soft"
                >${Object.entries(details)
                  .map(([name, value]) => `${name}: ${String(value)}`)
                  .join(", ")}</span
              >`,
            ]),
          )
    }
    ${next === undefined ? null : html`<p><a href="/audit?before=${next}">Older entries</a></p>`}`;
