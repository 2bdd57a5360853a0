/** The pages of settings and of the audit log. */
import { validate } from "uuid";
import { CreateAccessToken } from "../../../protocol/access-tokens.ts";
import { auditActions } from "../../../protocol/audit.ts";
import { validatorOf } from "../../domain/validator-of.ts";
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
import { findExisting, listAuditEntries } from "../../services/audit/audit.ts";
import type { Context } from "../../services/context.ts";
import { endOwnLogin, listLogins } from "../../services/people/logins.ts";
import { isOperator } from "../../services/people/operators.ts";
import { attempt, type Form } from "../page/form.ts";
import { sendPage, type Page } from "../page/layout.ts";
import {
  accessTokensSection,
  createdTokenPage,
  newTokenForm,
  tokenOf,
} from "./access-tokens-view.ts";
import { auditPage } from "./audit-page.ts";
import { settingsPage } from "./settings-page.ts";
import type { SignedIn } from "../signed-in.ts";

/** Audit entries of a page. */
const shown = 50;

const validateToken = validatorOf(CreateAccessToken);

const frame = ({ email }: UserCaller) => ({ email, at: "/settings" });

const nowOf = ({ now }: Context): string => new Date(now()).toISOString();

export function peoplePages(pages: SignedIn, context: Context): void {
  const settings = async (caller: UserCaller, form: Form): Promise<Page> => {
    const [accounts, logins, isOperating, tokens] = await Promise.all([
      listOwnAccounts(context, caller),
      listLogins(context, caller, undefined, 1000),
      isOperator(context, context.store.read, caller),
      listAccessTokens(context, caller, undefined, accessTokensLimit),
    ]);
    const offered = offeredHosts(context);
    const accessTokens = accessTokensSection(tokens, givableRoles(caller), form, nowOf(context));
    const body = settingsPage({
      email: caller.email,
      accounts,
      offered,
      logins,
      isOperator: isOperating,
      accessTokens,
    });
    return { ...frame(caller), title: "Settings", body };
  };
  pages.get("/settings", "account", async (caller, _, reply) => {
    sendPage(reply, await settings(caller, newTokenForm(givableRoles(caller))));
  });
  pages.post(
    "/settings/access-tokens",
    "createAccessToken",
    async (caller, { body: fields }, reply) => {
      const form = await attempt(fields, async () => {
        const token = await createAccessToken(context, caller, validateToken(tokenOf(fields)));
        const body = createdTokenPage(token, context.publicUrl());
        sendPage(reply, { ...frame(caller), title: "A new access token", body });
      });
      if (form) sendPage(reply, await settings(caller, form), form.status);
    },
  );
  pages.post(
    "/settings/access-tokens/:id/revoke",
    "revokeAccessToken",
    async (caller, { params }, reply) => {
      const { id } = params as { id: string };
      if (!validate(id)) throw notFound("access token");
      await revokeAccessToken(context, caller, id);
      reply.redirect("/settings#access-tokens", 303);
    },
  );
  pages.post("/settings/logins/:id/revoke", "revokeLogin", async (caller, { params }, reply) => {
    const { id } = params as { id: string };
    if (!validate(id)) throw notFound("login");
    await endOwnLogin(context, caller, id);
    reply.redirect("/settings", 303);
  });
  pages.get("/audit", "listAuditEntries", async (caller, { query }, reply) => {
    const { before, action: wanted } = query as Record<string, unknown>;
    const from = typeof before === "string" && validate(before) ? before : undefined;
    // What is no action filters nothing.
    const action = auditActions.find((one) => one === wanted);
    const filter = action === undefined ? {} : { action };
    const entries = await listAuditEntries(context, caller, filter, from, shown + 1);
    const next = entries.length > shown ? entries[shown - 1]?.id : undefined;
    const page = entries.slice(0, shown);
    const existing = await findExisting(context, caller, page);
    const body = auditPage({ entries: page, existing, wanted: action, next });
    sendPage(reply, { title: "Audit", body, email: caller.email, at: "/audit" });
  });
}
