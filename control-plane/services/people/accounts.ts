/**
 * Accounts at sign-in providers. An account is (provider, host, subject). Two accounts are joined
 * only by a signed-in user who also signs in with the second one. An equal e-mail address joins
 * nothing: neither two accounts, nor an account and the user of an operator's link.
 */
import { setTimeout as pause } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { Origin, SignedIn, UserCaller } from "../callers.ts";
import {
  githubScopes,
  lacksRepositories,
  refreshGrant,
  type ProviderTokens,
} from "./oauth-client.ts";
import { getJson } from "./provider-http.ts";
import {
  accountsOf,
  apiOf,
  isOidc,
  providerNames,
  providerOf,
  type ProviderName,
  type ProviderSettings,
} from "../../domain/providers.ts";
import { groupColumns } from "../../domain/oidc-claims.ts";
import type { SecretKeys } from "../../domain/secret-box.ts";
import { equalSecrets } from "../../../common/equal-secrets.ts";
import { RefusalError } from "../../domain/refusal.ts";
import {
  findAccount,
  findUserAccount,
  insertAccount,
  insertUser,
  listTokens,
  setMissingHosts,
  updateAccount,
  type AccountId,
  type AccountRow,
} from "../../store/people/accounts.ts";
import { findPerson, saveAdmission } from "../../store/people/admission.ts";
import type { Queries } from "../../store/db.ts";
import { findFact, refreshesFrom, removeFact, setFact } from "../../store/facts.ts";
import { person, record } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { applyGroups } from "../teams/group-members.ts";
import { joinTeam } from "../teams/invitations.ts";
import { checkBlocked, startSession } from "./logins.ts";
import { startProviderSession } from "./provider-sessions.ts";
import { openToken, sealToken, sealTokenAgain } from "./sealed-tokens.ts";
import { minute } from "../../../common/units.ts";

/** A token that ends this soon is refreshed before it is used. */
const marginMilliseconds = minute;

export interface SignedInAt {
  readonly provider: ProviderName;
  readonly subject: string;
  readonly email: string;
  readonly verified: readonly string[];
  readonly tokens: ProviderTokens;
  /** What an OpenID Connect provider says of groups. */
  readonly groups?: readonly string[] | undefined;
  /** The organisation or group that permits the sign-in. */
  readonly group?: string | undefined;
  /** The token of the invitation that permits the sign-in, and that is used up by it. */
  readonly invitation?: string | undefined;
}

/** How many verified addresses of an account are kept. */
const addressesLimit = 100;

/**
 * Completes a sign-in: returns a session for the user of the account, who is created at the first
 * use. With a `caller`, the account is added to that user instead; "someone_else" if it belongs to
 * another user. Throws if the person is blocked, or if the invitation is no longer open.
 */
export async function signInWithAccount(
  context: Context,
  { provider, subject, email, verified, tokens, groups, group, invitation }: SignedInAt,
  caller: UserCaller | undefined,
  origin: Origin,
): Promise<SignedIn | "someone_else"> {
  const now = context.now();
  const id = { ...hostOfAccounts(context, provider), subject };
  const isKept = await keepsToken(context, id, tokens);
  return writeJobs(context, async (tx, afterCommit) => {
    const found = await findAccount(tx, id);
    if (found && caller && found.user_id !== caller.user_id) return "someone_else";
    const user = found
      ? { id: found.user_id, email: found.user_email }
      : { id: caller?.user_id ?? uuid(), email: caller?.email ?? email };
    await checkBlocked(tx, user.id, [email, ...verified]);
    const change = {
      email,
      verified: JSON.stringify(verified.slice(0, addressesLimit)),
      ...groupColumns(groups, now),
      signed_in_at: now,
    };
    // A provider's own session has its refresh token, and its access token is not needed again.
    const sealed = sealTokens(context, id, isOidc(provider) ? noTokens : tokens);
    if (found) await updateAccount(tx, id, { ...change, ...(isKept ? {} : sealed) });
    else {
      if (!caller) await insertUser(tx, { ...user, created_at: now });
      await insertAccount(tx, {
        ...id,
        ...change,
        ...sealed,
        user_id: user.id,
        created_at: now,
      });
    }
    await applyGroups(tx, afterCommit, user.id, now);
    if (group !== undefined)
      await saveAdmission(tx, user.id, {
        asked_at: now,
        unanswered_since: null,
        allowed_group: group,
      });
    if (!caller) {
      const provider_session_id = isOidc(provider)
        ? await startProviderSession(context, tx, { ...id, user_id: user.id }, tokens)
        : null;
      const way = { way: provider, origin, provider_session_id };
      const session = await startSession(tx, user, way, now);
      if (invitation === undefined) return session;
      const by = person({ ...session, login_kind: "session", origin });
      const { isNew } = await joinTeam(tx, afterCommit, { user, by }, invitation, now);
      // Such as one who created the team: nothing would use the invitation up.
      if (!isNew) throw new RefusalError("permission_denied", "You are a member of this team");
      return session;
    }
    const connected = { action: "account.connect", id: subject, name: email } as const;
    const details = { provider };
    await record(tx, { by: person(caller), owner: user.id, ...connected, details }, now);
    return caller;
  });
}

/**
 * Whether the stored token stays: it lists repositories, which the one of a sign-in does not, and the
 * host still accepts it. One that lacks a scope of the new one is replaced: without `read:org`, the
 * person would be signed out.
 */
async function keepsToken(
  context: Context,
  id: AccountId,
  { scope }: ProviderTokens,
): Promise<boolean> {
  const settings = providerOf(context.providers, id)?.settings;
  const granted = githubScopes(scope);
  if (id.provider !== "github" || !settings || !lacksRepositories(granted)) return false;
  const account = await findAccount(context.store.read, id);
  if (!account) return false;
  try {
    const stored = await accountToken(context, account);
    const { headers } = await getJson(settings, `${apiOf("github", settings)}/user`, stored);
    const known = githubScopes(headers.get("x-oauth-scopes"));
    return ["repo", ...granted].every((one) => known.includes(one));
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    return error.code === "provider_unavailable";
  }
}

/** `invited`: an operator's link or a team's invitation is enough permission. */
export async function standingOf(
  context: Context,
  provider: ProviderName,
  subject: string,
): Promise<"invited" | "known" | "new"> {
  const { read } = context.store;
  const account = await findAccount(read, { ...hostOfAccounts(context, provider), subject });
  if (account === undefined) return "new";
  const found = await findPerson(read, account.user_id);
  const isInvited = found && (found.link_email !== null || found.invited_to !== null);
  return isInvited ? "invited" : "known";
}

export const saveVerified = (
  { store }: Context,
  account: AccountId,
  verified: readonly string[],
): Promise<void> =>
  store.write((tx) =>
    updateAccount(tx, account, { verified: JSON.stringify(verified.slice(0, addressesLimit)) }),
  );

/** Gives the accounts of an older version the host that is configured now, or the public one. */
export const completeAccounts = (context: Context): Promise<void> =>
  context.store.write(async (tx) => {
    for (const { provider, host } of providerNames
      .filter((name) => !isOidc(name))
      .map((name) => hostOfAccounts(context, name)))
      await setMissingHosts(tx, { provider, host });
  });

const hostOfAccounts = ({ providers }: Context, name: ProviderName) =>
  accountsOf(name, providers[name]);

/** The hosts of those of these providers that are enabled. */
const hostsOf = (context: Context, providers: readonly ProviderName[]) =>
  providers
    .filter((name) => context.providers[name] !== undefined)
    .map((name) => hostOfAccounts(context, name));

/** Refreshes it if necessary. Throws the reason if there is no valid one. */
export async function providerToken(
  context: Context,
  user: string,
  providers: readonly ProviderName[],
): Promise<string> {
  // A token is sent only to the host that issued it, never to another one that was configured
  // since.
  const on = hostsOf(context, providers);
  const account = on.length === 0 ? undefined : await findUserAccount(context.store.read, user, on);
  if (!account) throw new RefusalError("provider_not_connected");
  return accountToken(context, account);
}

/** Returns the token of an account at a host that is configured, refreshed if necessary. */
export async function accountToken(context: Context, account: AccountRow): Promise<string> {
  const found = providerOf(context.providers, account);
  if (!found) throw new RefusalError("provider_not_connected");
  if (
    account.refresh_token === null ||
    account.token_expires_at === null ||
    account.token_expires_at - marginMilliseconds > context.now()
  )
    return open(context, account, account.access_token);
  return refreshOnce(context, account, found, account.refresh_token);
}

/** Returns the provider token for the client of a device login; null if there is no valid one. */
export async function clientProviderToken(context: Context, user: string): Promise<string | null> {
  try {
    return await providerToken(context, user, ["github", "gitlab", "bitbucket"]);
  } catch (error) {
    if (error instanceof RefusalError) return null;
    throw error;
  }
}

/** Longer than a request to a provider may take. After it, another process may try. */
const turnMilliseconds = minute;
/** How often a caller looks whether another one has refreshed the token. */
const lookMilliseconds = 100;

/** One refresh for all processes: GitLab ends the access if a refresh token is used twice. */
async function refreshOnce(
  context: Context,
  account: AccountRow,
  { name, settings }: { readonly name: ProviderName; readonly settings: ProviderSettings },
  sealed: string,
): Promise<string> {
  const { store, now } = context;
  const turn = `${refreshesFrom}${account.provider}:${account.host}:${account.subject}`;
  for (;;) {
    const current = await store.write(async (tx) => {
      const found = await findAccount(tx, account);
      if (found === undefined) return null;
      if (!equalSecrets(found.access_token, account.access_token)) return found;
      if (Number((await findFact(tx, turn)) ?? 0) > now()) return "waiting" as const;
      await setFact(tx, turn, String(now() + turnMilliseconds));
      return "mine" as const;
    });
    if (current === null) throw new RefusalError("provider_not_connected");
    if (current === "mine") break;
    if (current !== "waiting") return open(context, account, current.access_token);
    await pause(lookMilliseconds);
    if (context.draining.aborted) throw new RefusalError("unavailable", "the server is stopping");
  }
  try {
    const old = open(context, account, sealed);
    const tokens = await refreshGrant(name, settings, old);
    // A provider that issues no new refresh token keeps accepting the old one.
    const kept = { ...tokens, refresh_token: tokens.refresh_token ?? old };
    const change = sealTokens(context, account, kept);
    await store.write((tx) => updateAccount(tx, account, change, account.access_token));
    return tokens.access_token;
  } finally {
    await store.write((tx) => removeFact(tx, turn));
  }
}

function sealTokens(
  context: Context,
  id: AccountId,
  {
    access_token,
    refresh_token,
    expires_in,
  }: Pick<ProviderTokens, "access_token" | "refresh_token" | "expires_in">,
) {
  return {
    access_token: seal(context, id, access_token),
    refresh_token: refresh_token === undefined ? null : seal(context, id, refresh_token),
    token_expires_at: expires_in === undefined ? null : context.now() + expires_in * 1000,
  };
}

const noTokens = { access_token: "", refresh_token: undefined, expires_in: undefined };

const purpose = "provider-tokens";
const about = ({ provider, subject }: Pick<AccountId, "provider" | "subject">): string =>
  `${provider}:${subject}`;

const seal = ({ box }: Context, id: AccountId, token: string): string =>
  sealToken(box(purpose), about(id), token);

function open({ box }: Context, id: AccountId, sealed: string): string {
  const token = openToken(box(purpose), about(id), sealed);
  // A new sign-in of the user replaces it.
  if (token === undefined)
    throw new RefusalError(
      "provider_token_rejected",
      "The stored token cannot be read; sign in again",
    );
  return token;
}

/** Returns how many accounts changed. A token that no key opens stays unchanged. */
export async function resealTokens(tx: Queries, keys: SecretKeys): Promise<number> {
  let count = 0;
  for (const account of await listTokens(tx)) {
    const again = (sealed: string): string => sealTokenAgain(keys, purpose, about(account), sealed);
    const access_token = again(account.access_token);
    if (equalSecrets(access_token, account.access_token)) continue;
    const refresh_token = account.refresh_token === null ? null : again(account.refresh_token);
    await updateAccount(tx, account, { access_token, refresh_token });
    count += 1;
  }
  return count;
}
