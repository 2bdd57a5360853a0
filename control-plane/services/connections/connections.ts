import { createPrivateKey } from "node:crypto";
import { v7 as uuid } from "uuid";
import {
  pollSeconds,
  type Connection,
  type CreateConnection,
  type UpdateConnection,
} from "../../../protocol/connections.ts";
import { addressesOf, type Kind } from "../../code-hosts/kinds.ts";
import { newToken } from "../../domain/tokens.ts";
import { time, timeOrNull } from "../../domain/moments.ts";
import { checkRoom, invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { DestinationError } from "../../outbound/destinations.ts";
import {
  deleteConnection as deleteRow,
  findConnection,
  findConnectionByName,
  insertConnection,
  listConnections as listRows,
  updateConnection as updateRow,
  type ConnectionRow,
} from "../../store/connections/connections.ts";
import { hintLook, isStatusNameTaken, listFollowers } from "../../store/connections/follows.ts";
import type { Queries } from "../../store/db.ts";
import { asSystem } from "../../store/spaces.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { openSecrets, sealRotated, sealSecrets, type SealedSecrets } from "./secrets.ts";

/** How many connections a space may have: each is asked for as long as it exists. */
const connectionsLimit = 50;

export async function createConnection(
  context: Context,
  user: UserCaller,
  input: CreateConnection,
): Promise<Connection & { webhook_secret: string }> {
  const { store, now } = context;
  const { space_id: owner_id } = user;
  const { base, api } = addresses(context, input);
  const [id, at, secret] = [uuid(), now(), newToken("wlwh")];
  const webhook_secret = input.app?.webhook_secret ?? secret;
  const secrets = changedSecrets(input.kind, { webhook_secret }, input);
  const row: ConnectionRow = {
    id,
    owner_id,
    name: input.name,
    kind: input.kind,
    base_url: base,
    api_url: api,
    account: null,
    status_name: input.status_name ?? "windlass",
    poll_seconds: input.poll_seconds ?? pollSeconds.default,
    secrets: sealSecrets(context, id, secrets),
    last_event_at: null,
    last_poll_at: null,
    poll_at: at,
    busy_until: 0,
    quiet_until: 0,
    error: null,
    error_since: null,
    created_at: at,
    updated_at: at,
  };
  await store.write(async (tx) => {
    await checkName(tx, owner_id, row.name);
    const others = await listRows(tx, owner_id, undefined, connectionsLimit);
    checkRoom(
      others.length,
      connectionsLimit,
      `this space has ${connectionsLimit} connections`,
      "delete some of them",
    );
    await insertConnection(tx, row);
    await recordOwn(tx, user, { action: "connection.create", id, name: row.name }, at);
  });
  return { ...view(context, row), webhook_secret };
}

export async function listConnections(
  context: Context,
  { space_id }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Connection[]> {
  const rows = await listRows(context.store.read, space_id, before, limit);
  return rows.map((row) => view(context, row));
}

export async function getConnection(
  context: Context,
  user: UserCaller,
  id: string,
): Promise<Connection> {
  return view(context, await findRow(context.store.read, user, id));
}

/** Changes only the fields in the request; a credential is replaced, never shown. */
export async function updateConnection(
  context: Context,
  user: UserCaller,
  id: string,
  input: UpdateConnection,
): Promise<Connection> {
  if (input.status_name !== undefined) {
    const row = await findRow(context.store.read, user, id);
    await checkStatusName(context, { ...row, status_name: input.status_name });
  }
  return context.store.write(async (tx) => {
    const before = await findRow(tx, user, id);
    const { name, status_name, poll_seconds, api_url } = input;
    if (name !== undefined && name !== before.name) await checkName(tx, user.space_id, name);
    const secrets = changedSecrets(before.kind, openSecrets(context, before), input);
    const at = context.now();
    const change = {
      ...(name === undefined ? {} : { name }),
      ...(status_name === undefined ? {} : { status_name }),
      ...(poll_seconds === undefined ? {} : { poll_seconds }),
      ...(api_url === undefined
        ? {}
        : { api_url: addresses(context, { ...before, api_url: api_url ?? undefined }).api }),
      secrets: sealSecrets(context, before.id, secrets),
      // The change may mend what was wrong.
      quiet_until: 0,
      updated_at: at,
    };
    await updateRow(tx, before.id, change);
    await hintLook(tx, before.id, at);
    const fields = Object.keys(input);
    const target = { id: before.id, name: name ?? before.name, details: { fields } };
    await recordOwn(tx, user, { action: "connection.update", ...target }, at);
    return view(context, { ...before, ...change });
  });
}

export async function deleteConnection(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  await store.write(async (tx) => {
    const row = await findRow(tx, user, id);
    const follower = await tx.first(listFollowers, { connection: row.id, limit: 1 });
    if (follower)
      throw new RefusalError(
        "connection_in_use",
        `the configuration "${follower.name}" follows a branch through it: end that first`,
      );
    await deleteRow(tx, row.id);
    await recordOwn(tx, user, { action: "connection.delete", id: row.id, name: row.name }, now());
  });
}

/** Makes a new webhook secret. The old one holds for some seconds more. */
export async function rotateSecret(
  context: Context,
  user: UserCaller,
  id: string,
  { overlap_seconds }: { readonly overlap_seconds: number },
): Promise<{ webhook_secret: string }> {
  const webhook_secret = newToken("wlwh");
  await context.store.write(async (tx) => {
    const row = await findRow(tx, user, id);
    const at = context.now();
    const secrets = sealRotated(context, row, webhook_secret, at + overlap_seconds * 1000);
    await updateRow(tx, row.id, { secrets, updated_at: at });
    const target = { id: row.id, name: row.name };
    await recordOwn(tx, user, { action: "connection.rotate_secret", ...target }, at);
  });
  return { webhook_secret };
}

export async function findRow(
  queries: Queries,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<ConnectionRow> {
  const row = await queries.first(findConnection, { id, owner });
  if (!row) throw notFound("connection");
  return row;
}

/** Throws if the kind does not support the address, or it may not be reached. */
function addresses(
  { outbound }: Context,
  input: {
    readonly kind: Kind;
    readonly base_url?: string | undefined;
    readonly api_url?: string | null | undefined;
  },
): { base: string; api: string } {
  const { kind } = input;
  const [base_url, api_url] = (["base_url", "api_url"] as const).map((name) => {
    const given = input[name] ?? undefined;
    const url = given === undefined ? undefined : URL.parse(given);
    if (url === null) throw invalid(`body.${name}`, "must be an address");
    return url?.href.replace(/\/+$/, "");
  });
  const found = addressesOf(kind, base_url, api_url);
  if (!found)
    throw invalid(
      "body.base_url",
      kind === "bitbucket"
        ? "must be left out: only Bitbucket Cloud is supported, not Bitbucket Data Center"
        : "is missing: the address of the host, such as https://git.example.com",
    );
  for (const address of [found.base, found.api])
    try {
      outbound.check(address);
    } catch (error) {
      if (error instanceof DestinationError)
        throw new RefusalError("destination_not_allowed", error.message);
      throw error;
    }
  return found;
}

/** What is kept after a request, which must fit the kind. */
function changedSecrets(
  kind: Kind,
  before: SealedSecrets,
  {
    credential,
    clone_credential,
    app,
  }: Pick<UpdateConnection, "credential" | "clone_credential" | "app">,
): SealedSecrets {
  if (kind === "github_app" && credential !== undefined)
    throw invalid("body.credential", "must be left out: an App has a private key");
  if (kind !== "github_app" && app !== undefined)
    throw invalid("body.app", "must be left out: only connections of kind github_app have it");
  const after = {
    ...before,
    ...(credential === undefined ? {} : { credential }),
    ...(clone_credential === undefined ? {} : { clone_credential: clone_credential ?? undefined }),
    ...(app?.id === undefined ? {} : { app_id: app.id }),
    ...(app?.private_key === undefined ? {} : { private_key: pem(app.private_key) }),
    ...(app?.installation_id === undefined ? {} : { installation_id: app.installation_id }),
    ...(app?.webhook_secret === undefined ? {} : { webhook_secret: app.webhook_secret }),
  };
  if (kind !== "github_app" && after.credential === undefined)
    throw invalid("body.credential", "is missing");
  return after;
}

export function pem(text: string): string {
  try {
    if (createPrivateKey(text).asymmetricKeyType === "rsa") return text;
  } catch {
    // Said below.
  }
  throw invalid("body.app.private_key", "must be an RSA private key in PEM, as GitHub makes it");
}

/** Two connections with one name would write over each other's statuses and comment. */
export async function checkStatusName(
  { store: { read } }: Pick<Context, "store">,
  connection: Pick<ConnectionRow, "id" | "base_url" | "status_name">,
  repository?: string,
): Promise<void> {
  if (!(await asSystem(() => isStatusNameTaken(read, connection, repository)))) return;
  throw new RefusalError(
    "status_name_taken",
    `another connection of this server posts to the repository as "${connection.status_name}": set another status_name`,
  );
}

async function checkName(tx: Queries, owner: string, name: string): Promise<void> {
  if (await tx.first(findConnectionByName, { name, owner }))
    throw new RefusalError("name_taken", `the connection "${name}" already exists`);
}

const view = (context: Pick<Context, "publicUrl">, row: ConnectionRow): Connection => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  base_url: row.base_url,
  account: row.account,
  status_name: row.status_name,
  poll_seconds: row.poll_seconds,
  events_url: eventsUrl(context, row.id),
  last_event_at: timeOrNull(row.last_event_at),
  last_poll_at: timeOrNull(row.last_poll_at),
  error:
    row.error === null
      ? null
      : { message: row.error, since: time(row.error_since ?? row.updated_at) },
  created_at: time(row.created_at),
  updated_at: time(row.updated_at),
});

export const eventsUrl = ({ publicUrl }: Pick<Context, "publicUrl">, id: string): string =>
  `${publicUrl()}/api/events/${id}`;
