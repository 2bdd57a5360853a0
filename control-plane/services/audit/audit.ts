/**
 * The audit log: who did what to what, when, from where (docs/audit.md). An entry is written in the
 * transaction of the change that it records, so neither exists without the other: a refusal is
 * thrown and removes the entry too.
 *
 * `caller.origin` is the request itself, of which the services know only three fields. So no service
 * needs another parameter, and polls, which record nothing, cost nothing.
 */
import { v7 as uuid } from "uuid";
import type { AuditAction, AuditActorKind, AuditEntry } from "../../../protocol/audit.ts";
import type { Query } from "../../../protocol/endpoint.ts";
import type { Endpoints } from "../../../protocol/endpoints.ts";
import {
  nameOf,
  type Origin,
  type PipelineCaller,
  type UserCaller,
  type WorkerCaller,
} from "../callers.ts";
import { momentOf, time } from "../../domain/moments.ts";
import { RefusalError } from "../../domain/refusal.ts";
import {
  findAuditPosition,
  findEndOfSearch,
  insertAuditEntry,
  listAuditEntries as listRows,
  listConfigurationsOfJobs,
  listLive,
  type AuditFilter,
  type AuditRow,
} from "../../store/audit/audit.ts";
import type { Queries } from "../../store/db.ts";
import type { Context } from "../context.ts";
import { recordEvent } from "../events/record.ts";
import { checkCurrentAccess, type AdmittedCaller } from "../current-access.ts";

/** What is kept of a `User-Agent`, in characters. */
const userAgentLimit = 256;

export interface Actor {
  readonly kind: AuditActorKind;
  readonly id: string | null;
  /** The name by which users know it. */
  readonly name: string | null;
  /** Null: not caused by a request. */
  readonly origin: Origin | null;
  /** Only for a request that a person or an access token sends. */
  readonly admitted?: AdmittedCaller;
}

export const system: Actor = { kind: "system", id: null, name: null, origin: null };

export const operator: Actor = { kind: "operator", id: null, name: null, origin: null };

const actorKinds = { session: "session", cli: "cli_login", token: "access_token" } as const;

export const person = (
  caller: Pick<UserCaller, "login_kind" | "login_id" | "email" | "token_name" | "origin"> &
    Partial<AdmittedCaller>,
): Actor => ({
  kind: actorKinds[caller.login_kind],
  id: caller.login_id,
  name: nameOf(caller),
  origin: caller.origin,
  ...(isAdmitted(caller) ? { admitted: caller } : {}),
});

/** False for a person who is just signing in. */
const isAdmitted = (caller: Partial<AdmittedCaller>): caller is AdmittedCaller =>
  caller.spaces !== undefined;

export const runner = ({ id, name, origin }: WorkerCaller): Actor => ({
  kind: "worker",
  id,
  name,
  origin,
});

export const pipeline = ({ origin }: PipelineCaller): Actor => ({
  kind: "pipeline",
  id: null,
  name: null,
  origin,
});

/** Identifies a token or a one-time code without disclosing it: the beginning of its SHA-256. */
export const fingerprint = (hash: string): string => hash.slice(0, 16);

export interface AuditRecord {
  readonly by: Actor;
  /** The user who may read it; null: only operators, in the database. */
  readonly owner: string | null;
  readonly action: AuditAction;
  readonly id: string;
  readonly name?: string | null;
  /** Small, and never a secret or the value of a variable: names of fields, ids, counts. */
  readonly details?: Readonly<Record<string, string | number | null | readonly string[]>>;
}

/** Also refuses a change whose caller has lost the right to it since the request began. */
export async function record(
  tx: Queries,
  { by, owner, action, id, name = null, details = {} }: AuditRecord,
  now: number,
): Promise<void> {
  if (by.admitted && owner !== null) await checkCurrentAccess(tx, by.admitted, owner, now);
  await tx.run(insertAuditEntry, {
    // Inside the transaction, so that ids grow in the order of commits and pages are stable.
    id: uuid(),
    owner_id: owner,
    action,
    actor_kind: by.kind,
    actor_id: by.id,
    actor_name: by.name,
    target_id: id,
    target_name: name,
    details: JSON.stringify(details),
    ip_address: by.origin?.ip ?? null,
    user_agent: by.origin?.headers["user-agent"]?.slice(0, userAgentLimit) ?? null,
    request_id: by.origin?.id ?? null,
    created_at: now,
  });
  if (owner === null) return;
  const kind = kindOf(action);
  await recordEvent(tx, now, {
    type: `audit.${action}`,
    owner,
    by,
    about: id,
    ...(kind === "zone" ? { zone: id } : {}),
    ...(kind === "configuration" || kind === "state" ? { configuration: id } : {}),
    data: { action, target: { kind, id, name } },
  });
}

/** Adds an entry about a change that a user made to an object of the space. */
export const recordOwn = (
  tx: Queries,
  user: UserCaller,
  entry: Omit<AuditRecord, "by" | "owner">,
  now: number,
): Promise<void> => record(tx, { by: person(user), owner: user.space_id, ...entry }, now);

export async function listAuditEntries(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  query: Query<Endpoints["listAuditEntries"]>,
  before: string | undefined,
  limit: number,
): Promise<AuditEntry[]> {
  const filter: AuditFilter = {
    owner,
    action: query.action,
    target: query.target_id,
    since: momentOf("query.since", query.since),
    until: momentOf("query.until", query.until),
    before: await positionOf(read, owner, before),
    limit,
  };
  return viewAll(read, owner, await listRows(read, filter));
}

/** A page of the log that any filters select. */
interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Where the list continues; undefined at its end. */
  readonly next: string | undefined;
  /** Until when entries were searched, if not all were. */
  readonly searchedUntil: string | undefined;
}

/** The same as a page of the console, which an actor's name can also select. */
export async function findAuditPage(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  query: Omit<AuditFilter, "owner" | "before"> & { readonly before: string | undefined },
): Promise<AuditPage> {
  const { actor, limit } = query;
  const before = await positionOf(read, owner, query.before);
  const filter = { ...query, owner, before };
  const from = actor === undefined ? undefined : await findEndOfSearch(read, filter);
  const found = await listRows(read, { ...filter, from, limit: limit + 1 });
  const entries = await viewAll(read, owner, found.slice(0, limit));
  if (found.length > limit) return { entries, next: entries.at(-1)?.id, searchedUntil: undefined };
  return { entries, next: from?.id, searchedUntil: from && time(from.created_at) };
}

async function positionOf(read: Queries, owner: string, id: string | undefined) {
  if (id === undefined) return undefined;
  const position = await read.first(findAuditPosition, { id, owner });
  if (!position) throw new RefusalError("invalid_cursor");
  return position;
}

async function viewAll(
  read: Queries,
  owner: string,
  rows: readonly AuditRow[],
): Promise<AuditEntry[]> {
  const jobs = rows.flatMap(({ action, target_id: id }) =>
    kindOf(action) === "job" && id !== null ? [id] : [],
  );
  const found = await listConfigurationsOfJobs(read, owner, [...new Set(jobs)]);
  const configurations = new Map(found.map(({ job_id, id, name }) => [job_id, { id, name }]));
  return rows.map((row) => {
    const configuration = configurations.get(row.target_id ?? "");
    return configuration === undefined ? view(row) : { ...view(row), configuration };
  });
}

/** Where targets of these kinds are; a state has the id of its configuration. */
const tables = {
  configuration: "specs",
  state: "specs",
  zone: "zones",
  worker: "workers",
  variable_set: "variable_sets",
  cloud_identity: "cloud_identities",
} as const;

/** The kinds of targets that `findExisting` looks for, besides the configurations of jobs. */
export type LookedFor = keyof typeof tables;

export const isLookedFor = (kind: string): kind is LookedFor => Object.hasOwn(tables, kind);

/** Returns the ids of what the entries name and what still exists in the space. */
export async function findExisting(
  { store }: Context,
  { space_id: owner }: UserCaller,
  entries: readonly AuditEntry[],
): Promise<ReadonlySet<string>> {
  const ids = new Map<(typeof tables)[LookedFor], Set<string>>();
  const add = (kind: LookedFor, id: string): void => {
    const table = tables[kind];
    ids.set(table, (ids.get(table) ?? new Set()).add(id));
  };
  for (const { target, configuration } of entries) {
    if (isLookedFor(target.kind) && target.id !== null) add(target.kind, target.id);
    if (configuration?.id) add("configuration", configuration.id);
  }
  const found = [...ids].map(([table, some]) => listLive(store.read, table, owner, [...some]));
  return new Set((await Promise.all(found)).flat());
}

const kindOf = (action: AuditAction): string => action.split(".")[0] ?? "";

const view = (row: AuditRow): AuditEntry => ({
  id: row.id,
  created_at: time(row.created_at),
  action: row.action,
  actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
  target: { kind: kindOf(row.action), id: row.target_id, name: row.target_name },
  details: JSON.parse(row.details) as Record<string, unknown>,
  ip_address: row.ip_address,
  user_agent: row.user_agent,
  request_id: row.request_id,
});
