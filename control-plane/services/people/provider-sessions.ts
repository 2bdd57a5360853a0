/**
 * Sessions at OpenID Connect providers. Logins that came from one end with it: when the provider
 * refuses to renew it, reports its logout, or gives no answer for too long.
 */
import { decodeJwt, jwtVerify, type JWTPayload } from "jose";
import { v7 as uuid } from "uuid";
import { equalSecrets } from "../../../common/equal-secrets.ts";
import { day, minute } from "../../../common/units.ts";
import { logoutBytesLimit } from "../../../protocol/sign-in.ts";
import {
  accountsOf,
  isOidc,
  providerOf,
  type OidcName,
  type ProviderSettings,
} from "../../domain/providers.ts";
import { groupColumns } from "../../domain/oidc-claims.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import type { SecretKeys } from "../../domain/secret-box.ts";
import { hashToken } from "../../domain/tokens.ts";
import type { Queries } from "../../store/db.ts";
import { updateAccount, type AccountId } from "../../store/people/accounts.ts";
import {
  endLoginsFrom,
  findSessionOfLogin,
  findSessionsAt,
  insertProviderSession,
  listSealedSessions,
  listSessionsOfHolders,
  takeTurn,
  updateProviderSession,
  useLogoutToken,
  type ProviderSessionRow,
} from "../../store/people/provider-sessions.ts";
import { asSystem } from "../../store/spaces.ts";
import { record, system } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { applyGroups } from "../teams/group-members.ts";
import { wholeBody } from "../whole-body.ts";
import {
  checkSignature,
  discovered,
  keyFetch,
  renew,
  type ProviderTokens,
} from "./oauth-client.ts";
import { algorithms, keysOf } from "./provider-keys.ts";
import { unavailable } from "./provider-http.ts";
import { oidcPerson } from "./provider-person.ts";
import { openToken, sealToken, sealTokenAgain } from "./sealed-tokens.ts";

/** After a question without an answer, the next one waits this long. */
const retryMilliseconds = minute;

/** A longer ID token does not go into an address: proxies refuse long ones. In characters. */
const hintLimit = 4000;

/** How old a logout token may be (OpenID Connect Back-Channel Logout 1.0, section 2.6). */
const logoutSeconds = 600;

/** Runs in the transaction of the sign-in. Returns the id of the session. */
export async function startProviderSession(
  context: Context,
  tx: Queries,
  { host, subject, user_id }: AccountId & { readonly user_id: string },
  { id_token, refresh_token, claims }: ProviderTokens,
): Promise<string> {
  const [id, now] = [uuid(), context.now()];
  const sid = claims?.["sid"];
  await insertProviderSession(tx, {
    id,
    user_id,
    host,
    subject,
    sid: typeof sid === "string" ? sid : null,
    id_token: seal(context, id, id_token),
    refresh_token: seal(context, id, refresh_token),
    created_at: now,
    answered_at: now,
    asked_at: now,
  });
  return id;
}

/**
 * Whether the provider's session from which a login came goes on; true if it came from none. Asks
 * the provider if that was not done lately: one request of many asks, and the others go on.
 */
export async function goesOn(context: Context, login: string): Promise<boolean> {
  const { store, providers, oidc, now } = context;
  const session = await store.read.first(findSessionOfLogin, { login });
  if (!session) return true;
  const at = now();
  const isSilent = session.answered_at <= at - oidc.unanswered;
  const found = providerOf(providers, { provider: "oidc", host: session.host });
  const refreshToken = open(context, session.id, session.refresh_token);
  if (!found || !isOidc(found.name) || refreshToken === undefined)
    return isSilent ? end(context, session, "no_answer") : true;
  if (session.answered_at > at - oidc.refresh) return true;
  // After days without use, a session counts again only when its provider has said so.
  if (session.asked_at > at - retryMilliseconds) return !isSilent;
  const turn = { id: session.id, before: session.asked_at, now: at };
  if (!(await store.write((tx) => tx.first(takeTurn, turn)))) return !isSilent;
  try {
    return (await ask(context, session, found.name, found.settings, refreshToken))
      ? true
      : await end(context, session, "refused_by_provider");
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    // Not known: the session goes on until there was no answer for too long.
    return isSilent ? end(context, session, "no_answer") : true;
  }
}

/** How many logins are remembered as looked at. */
const lookedLimit = 10_000;

/** `goesOn` for requests of clients, whose tokens last an hour: once a minute for each login. */
export function goesOnLately(context: Context): (login: string) => boolean | Promise<boolean> {
  const looked = new Map<string, number>();
  return (login) => {
    const now = context.now();
    if ((looked.get(login) ?? 0) > now - minute) return true;
    if (looked.size >= lookedLimit) looked.clear();
    looked.set(login, now);
    return goesOn(context, login);
  };
}

/** False if the provider refuses. Throws without an answer. */
async function ask(
  context: Context,
  { id, host, subject, user_id: user, id_token: known }: ProviderSessionRow,
  name: OidcName,
  settings: ProviderSettings,
  refreshToken: string,
): Promise<boolean> {
  const { store, now } = context;
  const tokens = await renew(name, settings, refreshToken);
  if (tokens === "refused") return false;
  const { refresh_token, id_token } = tokens;
  // First: many providers accept each refresh token only once, and what follows can fail.
  if (refresh_token !== undefined) {
    const change = { refresh_token: seal(context, id, refresh_token) };
    await store.write((tx) => updateProviderSession(tx, id, change));
  }
  await checkSignature(name, settings, id_token);
  if ((tokens.subject ?? subject) !== subject) return false;
  const last = open(context, id, known);
  const lastClaims = last === undefined ? undefined : decodeJwt(last);
  // It may have none, but no other one (OpenID Connect Core 1.0, section 12.2).
  const [nonce, lastNonce] = [tokens.claims?.["nonce"], lastClaims?.["nonce"]];
  const isOther = nonce !== undefined && lastNonce !== undefined && nonce !== lastNonce;
  if (isOther) throw unavailable("its ID token is of another sign-in");
  // A renewal need not bring an ID token: then the last one holds, but for what user info says now.
  const { email, shown, verified, groups } = await oidcPerson(
    name,
    settings,
    { ...tokens, subject },
    tokens.claims ? {} : lastClaims,
  );
  await asSystem(() =>
    writeJobs(context, async (tx, afterCommit) => {
      await updateProviderSession(tx, id, {
        answered_at: now(),
        ...(id_token === undefined ? {} : { id_token: seal(context, id, id_token) }),
      });
      const account = { provider: "oidc", host, subject } as const;
      await updateAccount(tx, account, {
        email: email ?? shown ?? subject,
        verified: JSON.stringify(verified),
        ...groupColumns(groups ?? [], now()),
      });
      await applyGroups(tx, afterCommit, user, now());
    }),
  );
  return true;
}

/**
 * Asks daily about people whose access tokens work because of their groups: they need not be signed
 * in. A provider that refuses is not asked again; the groups count until they are too old.
 */
export async function askForTokenHolders(context: Context, signal: AbortSignal): Promise<void> {
  const { store, providers, now } = context;
  const before = now() - day;
  const sessions = await store.read.all(listSessionsOfHolders, { before, now: now(), limit: 50 });
  for (const session of sessions) {
    if (signal.aborted) return;
    const { id, host, asked_at } = session;
    if (!(await store.write((tx) => tx.first(takeTurn, { id, before: asked_at, now: now() }))))
      continue;
    const found = providerOf(providers, { provider: "oidc", host });
    const refreshToken = open(context, id, session.refresh_token);
    if (!found || !isOidc(found.name) || refreshToken === undefined) continue;
    try {
      if (!(await ask(context, session, found.name, found.settings, refreshToken)))
        await end(context, session, "refused_by_provider");
    } catch (error) {
      // Not known: it is asked again in a day.
      if (!(error instanceof RefusalError)) throw error;
    }
  }
}

/** Ends the logins of a session. Returns false. */
async function end(
  { store, wakeups, now }: Context,
  session: ProviderSessionRow,
  reason: string,
): Promise<false> {
  await store.write((tx) => endIn(tx, session, reason, now()));
  wakeups.notify("login", session.user_id);
  return false;
}

/** In a transaction. The caller notifies "login" after the commit. */
async function endIn(
  tx: Queries,
  { id, user_id: owner }: ProviderSessionRow,
  reason: string,
  now: number,
): Promise<void> {
  // What the provider has said counts no longer, and after its refusal it is not asked again.
  await updateProviderSession(tx, id, {
    answered_at: 0,
    ...(reason === "no_answer" ? {} : { refresh_token: null }),
  });
  for (const { id: login, kind: name } of await endLoginsFrom(tx, id, now)) {
    const details = { reason };
    await record(tx, { by: system, owner, action: "login.revoke", id: login, name, details }, now);
  }
}

/**
 * Where a browser that signs out goes next, to end the session at the provider too; undefined if
 * there is none, or if the provider does not answer.
 */
export async function logoutAddress(context: Context, login: string): Promise<string | undefined> {
  const { store, providers, publicUrl } = context;
  const session = await store.read.first(findSessionOfLogin, { login });
  const found = session && providerOf(providers, { provider: "oidc", host: session.host });
  if (!found || !isOidc(found.name)) return undefined;
  try {
    const { end_session_endpoint } = await discovered(found.name, found.settings);
    if (end_session_endpoint === undefined) return undefined;
    const address = new URL(end_session_endpoint);
    const idToken = open(context, session.id, session.id_token);
    address.searchParams.set("client_id", found.settings.clientId);
    address.searchParams.set("post_logout_redirect_uri", `${publicUrl()}/login`);
    if (idToken !== undefined && idToken.length <= hintLimit)
      address.searchParams.set("id_token_hint", idToken);
    return address.href;
  } catch (error) {
    if (error instanceof RefusalError) return undefined;
    throw error;
  }
}

/**
 * Back-channel logout (OpenID Connect Back-Channel Logout 1.0): ends the logins of the session that
 * the token names, or all of the person there. Throws 400 for a token that is not valid.
 */
export async function endByProvider(
  context: Context,
  name: string,
  body: AsyncIterable<Uint8Array>,
): Promise<void> {
  const settings = isOidc(name) ? context.providers[name] : undefined;
  if (!isOidc(name) || !settings) throw notFound("sign-in provider on this server");
  const form = new URLSearchParams((await wholeBody(body, logoutBytesLimit)).toString());
  const token = form.get("logout_token") ?? "";
  const claims = await verifyLogoutToken(context, name, settings, token);
  const { host } = accountsOf(name, settings);
  const { sub: subject, jti } = claims;
  const sid = typeof claims["sid"] === "string" ? claims["sid"] : undefined;
  const { store, wakeups, now } = context;
  const sessions = await store.write(async (tx) => {
    const expires = now() + 2 * logoutSeconds * 1000;
    if (!(await useLogoutToken(tx, hashToken(`${host} ${jti}`), expires)))
      throw new RefusalError("invalid_request", "the logout token was used before");
    // In the transaction that uses the token up: after a crash, the provider's repetition finds it unused.
    const found = await findSessionsAt(tx, { host, subject, sid });
    for (const session of found) await endIn(tx, session, "ended_by_provider", now());
    return found;
  });
  for (const { user_id } of sessions) wakeups.notify("login", user_id);
}

const refuse = (why: string): RefusalError =>
  new RefusalError("invalid_request", `the logout token is not valid: ${why}`);

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

async function verifyLogoutToken(
  context: Context,
  name: OidcName,
  settings: ProviderSettings,
  token: string,
): Promise<JWTPayload> {
  const { issuer, jwks_uri } = await discovered(name, settings);
  if (jwks_uri === undefined)
    throw new RefusalError("provider_unavailable", "The provider publishes no keys");
  let claims: JWTPayload;
  try {
    const verified = await jwtVerify(token, keysOf(settings, jwks_uri, keyFetch(settings)), {
      issuer,
      audience: settings.clientId,
      algorithms,
      currentDate: new Date(context.now()),
      maxTokenAge: logoutSeconds,
      clockTolerance: 60,
      requiredClaims: ["iat", "jti", "events"],
    });
    ({ payload: claims } = verified);
    const { typ } = verified.protectedHeader;
    if (typ !== undefined && !/^(application\/)?(logout\+)?jwt$/i.test(typ))
      throw refuse("its type is another");
  } catch (error) {
    throw error instanceof RefusalError ? error : refuse((error as Error).message);
  }
  const { events } = claims;
  if (typeof events !== "object" || events === null || !Object.hasOwn(events, logoutEvent))
    throw refuse("it is about no logout");
  if (Object.hasOwn(claims, "nonce")) throw refuse("it has a nonce, as an ID token does");
  if (claims.sub === undefined && typeof claims["sid"] !== "string")
    throw refuse("it names neither a session nor a person");
  return claims;
}

/** Returns how many sessions changed. A token that no key opens stays unchanged. */
export async function resealSessions(tx: Queries, keys: SecretKeys): Promise<number> {
  let count = 0;
  for (const { id, id_token, refresh_token } of await listSealedSessions(tx)) {
    const again = (sealed: string | null) =>
      sealed === null ? null : sealTokenAgain(keys, purpose, id, sealed);
    const change = { id_token: again(id_token), refresh_token: again(refresh_token) };
    const isSame =
      equalSecrets(change.id_token ?? "", id_token ?? "") &&
      equalSecrets(change.refresh_token ?? "", refresh_token ?? "");
    if (isSame) continue;
    await updateProviderSession(tx, id, change);
    count += 1;
  }
  return count;
}

const purpose = "provider-sessions";

const seal = ({ box }: Context, id: string, token: string | undefined): string | null =>
  token === undefined ? null : sealToken(box(purpose), id, token);

const open = ({ box }: Context, id: string, sealed: string | null): string | undefined =>
  sealed === null ? undefined : openToken(box(purpose), id, sealed);
