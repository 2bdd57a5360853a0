/** The pages of settings and of the audit log. */
import { validate } from "uuid";
import { CreateAccessToken } from "../../../protocol/access-tokens.ts";
import { auditActions, type AuditAction, type AuditEntry } from "../../../protocol/audit.ts";
import { judge } from "../../domain/judge.ts";
import { notFound } from "../../domain/refusal.ts";
import { givableRoles } from "../../domain/roles.ts";
import { listOwnAccounts, offeredHosts } from "../../services/people/accounts.ts";
import {
  accessTokensLimit,
  createAccessToken,
  listAccessTokens,
  revokeAccessToken,
} from "../../services/people/access-tokens.ts";
import type { UserCaller } from "../../services/callers.ts";
import {
  findNamedConfigurations,
  isConfiguration,
  listAuditEntries,
} from "../../services/audit/audit.ts";
import type { Context } from "../../services/context.ts";
import { endOwnLogin, listLogins } from "../../services/people/logins.ts";
import { attempt, type Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { sendPage, type Page } from "../page/layout.ts";
import {
  accessTokensSection,
  createdTokenPage,
  newTokenForm,
  tokenOf,
} from "./access-tokens-view.ts";
import { settingsPage } from "./settings-page.ts";
import type { SignedIn } from "../signed-in.ts";
import { table } from "../page/table.ts";
import { clock } from "../page/words.ts";

const shown = 100;

const judgeToken = judge(CreateAccessToken);

const frame = ({ email }: UserCaller) => ({ email, at: "/settings" });

const nowOf = ({ now }: Context): string => new Date(now()).toISOString();

/** Adds `/settings` and `/audit`. */
export function peoplePages(signedIn: SignedIn, context: Context): void {
  const settings = async (caller: UserCaller, form: Form): Promise<Page> => {
    const [accounts, logins, tokens] = await Promise.all([
      listOwnAccounts(context, caller),
      listLogins(context, caller, undefined, 1000),
      listAccessTokens(context, caller, undefined, accessTokensLimit),
    ]);
    const offered = offeredHosts(context);
    const accessTokens = accessTokensSection(tokens, givableRoles(caller), form, nowOf(context));
    const body = settingsPage({ email: caller.email, accounts, offered, logins, accessTokens });
    return { ...frame(caller), title: "Settings", body };
  };
  signedIn("GET", "/settings", async (caller, _, reply) => {
    sendPage(reply, await settings(caller, newTokenForm(givableRoles(caller))));
  });
  signedIn("POST", "/settings/access-tokens", async (caller, { body: fields }, reply) => {
    const form = await attempt(fields, async () => {
      const token = await createAccessToken(context, caller, judgeToken(tokenOf(fields)));
      const body = createdTokenPage(token, context.publicUrl());
      sendPage(reply, { ...frame(caller), title: "A new access token", body });
    });
    if (form) sendPage(reply, await settings(caller, form), form.status);
  });
  signedIn("POST", "/settings/access-tokens/:id/revoke", async (caller, { params }, reply) => {
    const { id } = params as { id: string };
    if (!validate(id)) throw notFound("access token");
    await revokeAccessToken(context, caller, id);
    reply.redirect("/settings#access-tokens", 303);
  });
  signedIn("POST", "/settings/logins/:id/revoke", async (caller, { params }, reply) => {
    const { id } = params as { id: string };
    if (!validate(id)) throw notFound("login");
    await endOwnLogin(context, caller, id);
    reply.redirect("/settings", 303);
  });
  signedIn("GET", "/audit", async (caller, { query }, reply) => {
    const { before, action: wanted } = query as Record<string, unknown>;
    const from = typeof before === "string" && validate(before) ? before : undefined;
    // What is no action filters nothing.
    const action = auditActions.find((one) => one === wanted);
    const filter = action === undefined ? {} : { action };
    const entries = await listAuditEntries(context, caller, filter, from, shown + 1);
    const next = entries.length > shown ? entries[shown - 1]?.id : undefined;
    const page = entries.slice(0, shown);
    const body = auditPage(
      page,
      await findNamedConfigurations(context, caller, page),
      action,
      next,
    );
    sendPage(reply, { title: "Audit", body, email: caller.email, at: "/audit" });
  });
}

const auditPage = (
  entries: readonly AuditEntry[],
  configurations: ReadonlySet<string>,
  wanted: AuditAction | undefined,
  next: string | undefined,
): Html =>
  html`<h1>Audit</h1>
    <p class="soft">Who did what to your resources, when and from where; newest first.</p>
    <form method="get" action="/audit" class="first">
      <label
        >Only
        <select name="action">
          <option value="">everything</option>
          ${auditActions.map((one) => html`<option ${one === wanted ? html`selected` : null}>${one}</option>`)}
        </select></label
      >
      <button class="quiet">Show</button>
    </form>
    ${
      entries.length === 0
        ? html`<p class="soft">
            No entries. ${wanted === undefined ? null : html`<a href="/audit">Show everything</a>`}
          </p>`
        : table(
            "Audit log",
            ["When", "Who", "What", "To", "From", "Details"],
            entries.map((entry) => [
              clock(entry.created_at),
              entry.actor.name ?? entry.actor.kind.replaceAll("_", " "),
              html`<code>${entry.action}</code>`,
              targetOf(entry, configurations),
              entry.ip_address ?? "–",
              html`<span class="clamp soft">${detailsOf(entry)}</span>`,
            ]),
          )
    }
    ${
      next === undefined
        ? null
        : html`<p>
            <a href="/audit?${wanted === undefined ? "" : `action=${wanted}&`}before=${next}"
              >Older entries</a
            >
          </p>`
    }`;

/** Jobs stay; of other things, configurations that still exist have a link. */
const targetOf = (
  { target, configuration }: AuditEntry,
  configurations: ReadonlySet<string>,
): Html | string => {
  const { kind, id, name } = target;
  const linked = (spec: string | null, text: string): Html | string =>
    spec !== null && configurations.has(spec)
      ? html`<a href="/configurations/${spec}">${text}</a>`
      : text;
  if (kind !== "job" || id === null) {
    const text = name ?? id ?? "–";
    return isConfiguration(kind) ? linked(id, text) : text;
  }
  const of = configuration?.name ?? null;
  return html`<a href="/jobs/${id}">${name ?? "job"}</a
    >${of === null ? "" : html` of ${linked(configuration?.id ?? null, of)}`}`;
};

/** What the target does not say already; the name of a thing in place of its id. */
const detailsOf = ({ details, configuration }: AuditEntry): string =>
  Object.entries(details)
    .filter(([name]) => name !== "configuration_id" || !configuration?.name)
    .filter(([name]) => !name.endsWith("_id") || !(name.replace(/_id$/, "_name") in details))
    .map(([name, value]) => `${name.replace(/_name$/, "")}: ${String(value)}`)
    .join(", ");
