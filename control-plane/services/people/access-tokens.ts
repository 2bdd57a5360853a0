/** Access tokens: credentials of pipelines, each with a role and an end. */
import { v7 as uuid } from "uuid";
import type {
  AccessToken,
  CreateAccessToken,
  CreatedAccessToken,
} from "../../../protocol/access-tokens.ts";
import { accessTokenDaysDefault } from "../../../protocol/limits.ts";
import { day, minute } from "../../../common/units.ts";
import { checkRoom, notFound, RefusalError } from "../../domain/refusal.ts";
import {
  checkPermission,
  givableRoles,
  includesAccess,
  roleIn,
  wholeAccess,
  zonesText,
  accessWords,
  auditedRoles,
  shownAccess,
  type Access,
} from "../../domain/roles.ts";
import { hashToken, newToken } from "../../domain/tokens.ts";
import {
  deleteAccessToken,
  findAccessToken,
  findAccessTokenById,
  insertAccessToken,
  listAccessTokenNames,
  listAccessTokens as listRows,
  recordUse,
  type AccessTokenRow,
} from "../../store/people/access-tokens.ts";
import { findSpecBriefly } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { recordOwn } from "../audit/audit.ts";
import { spaceOf, type Origin, type UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { spaceOfToken } from "./caller-spaces.ts";
import { checkZones, givenAccess } from "../teams/zone-roles.ts";
import { time } from "../../domain/moments.ts";

export const accessTokensLimit = 100;
/** How many characters of a token are kept to recognise it by; the others are 234 random bits. */
const prefixLength = 8;

export async function createAccessToken(
  { store, now }: Context,
  user: UserCaller,
  { name, expires_in_days = accessTokenDaysDefault, configurations, ...roles }: CreateAccessToken,
): Promise<CreatedAccessToken> {
  const access = givenAccess(roles);
  checkGivable(user, access);
  await checkZones(store.read, user.space_id, access);
  const token = newToken("wlt");
  const created_at = now();
  const row = {
    id: uuid(),
    owner_id: user.space_id,
    created_by: user.user_id,
    name,
    role: access.role,
    zones: zonesText(access.zones),
    configurations:
      configurations === undefined
        ? null
        : JSON.stringify(await knownConfigurations(store.read, user, configurations)),
    prefix: token.slice(0, prefixLength),
    token_hash: hashToken(token),
    created_at,
    expires_at: created_at + expires_in_days * day,
    last_used_at: null,
    last_used_from: null,
  };
  await store.write(async (tx) => {
    const names = await listAccessTokenNames(tx, user.space_id);
    if (names.includes(name))
      throw new RefusalError(
        "name_taken",
        `there is an access token "${name}" already: choose another name, or revoke that one first`,
      );
    const advice = "revoke those that are not used";
    checkRoom(
      names.length,
      accessTokensLimit,
      `there are ${accessTokensLimit} access tokens`,
      advice,
    );
    await insertAccessToken(tx, row);
    const narrow = configurations === undefined ? {} : { configurations };
    const details = { ...auditedRoles(row), ...narrow, expires_at: time(row.expires_at) };
    const entry = { action: "access_token.create", id: row.id, name, details } as const;
    await recordOwn(tx, user, entry, created_at);
  });
  return { access_token: token, ...view({ ...row, email: user.email }) };
}

/** A page of GET /api/cli/access-tokens: all of the space for an admin, else the caller's own. */
export async function listAccessTokens(
  { store }: Context,
  { space_id: owner, user_id, role }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<AccessToken[]> {
  const creator = role === "admin" ? undefined : user_id;
  return (await listRows(store.read, { owner, creator, before, limit })).map(view);
}

export async function getCurrentAccessToken(
  { store }: Context,
  { login_kind, login_id: id }: UserCaller,
): Promise<AccessToken> {
  const token =
    login_kind === "token" ? await store.read.first(findAccessTokenById, { id }) : undefined;
  if (token) return view(token);
  throw new RefusalError("not_found", "this request was not sent with an access token");
}

/** DELETE /api/cli/access-tokens/{id}: it is refused at once. */
export async function revokeAccessToken(
  { store, wakeups, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  await store.write(async (tx) => {
    const token = await tx.first(findAccessTokenById, { id });
    if (token?.owner_id !== user.space_id) throw notFound("access token");
    if (token.created_by !== user.user_id) checkPermission(user, "administer");
    await tx.run(deleteAccessToken, { id });
    const { name } = token;
    await recordOwn(tx, user, { action: "access_token.revoke", id, name }, now());
  });
  // Ends its event streams, like those of a login.
  wakeups.notify("login", id);
}

/** Whether this has the form of an access token; the token of a login is a JWT. */
export const isAccessToken = (token: string): boolean => token.startsWith("wlt_");

/** Returns what acts by this access token. Throws 401 if it is wrong, revoked or expired. */
export async function checkAccessToken(
  { store, now }: Pick<Context, "store" | "now">,
  token: string,
  origin: Origin,
): Promise<UserCaller> {
  const row = await store.read.first(findAccessToken, { token_hash: hashToken(token) });
  const space = row && (await spaceOfToken(store.read, row));
  if (!row || !space)
    throw unauthenticated("the access token is wrong or was revoked; create a new one");
  if (row.expires_at <= now())
    throw unauthenticated(
      `the access token "${row.name}" expired on ${time(row.expires_at).slice(0, 10)}; create a new one`,
    );
  const at = now() - (now() % minute);
  if (row.last_used_at !== at)
    await store
      .write((tx) => tx.run(recordUse, { id: row.id, at, from: origin.ip }))
      // Reading must not fail because this cannot be written.
      .catch(() => undefined);
  return {
    user_id: row.created_by,
    email: row.email,
    login_id: row.id,
    login_kind: "token",
    token_name: row.name,
    space_id: space.space_id,
    role: space.role,
    spaces: [space],
    origin,
  };
}

/** An access token has at most the roles of its creator. */
function checkGivable(caller: UserCaller, access: Access): void {
  const own = spaceOf(caller) ?? wholeAccess("none");
  if (includesAccess(own, access)) return;
  const given = givableRoles(own);
  throw new RefusalError(
    "permission_denied",
    `An access token has at most the roles of its creator. You have ${accessWords(own)}.${given.length > 0 ? ` You can give: ${given.join(", ")}.` : ""}`,
  );
}

/** Those that the caller sees. Throws 404 for another one. */
async function knownConfigurations(
  queries: Queries,
  caller: UserCaller,
  ids: readonly string[],
): Promise<string[]> {
  const { space_id: owner } = caller;
  const own = spaceOf(caller) ?? wholeAccess("none");
  const known = [...new Set(ids)];
  for (const id of known) {
    const spec = await queries.first(findSpecBriefly, { id, owner });
    if (!spec || roleIn(own, { zone_id: spec.zone_id, configuration_id: id }) === "none")
      throw notFound(`configuration ${id}`);
  }
  return known;
}

const unauthenticated = (detail: string): RefusalError =>
  new RefusalError("unauthenticated", detail, {}, { "www-authenticate": "Bearer" });

const view = (row: AccessTokenRow): AccessToken => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  ...shownAccess(row),
  configurations: row.configurations === null ? null : (JSON.parse(row.configurations) as string[]),
  created_by: row.email,
  created_at: time(row.created_at),
  expires_at: time(row.expires_at),
  // Only the minute is stored, which may have begun before the token was created.
  last_used_at: row.last_used_at === null ? null : time(Math.max(row.last_used_at, row.created_at)),
  last_used_from: row.last_used_from,
});
