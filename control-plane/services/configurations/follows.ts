/** The branch of a code host that a configuration follows. */
import type { Source, UpdateConfiguration } from "../../../protocol/configurations.ts";
import type { Follow } from "../../../protocol/follow.ts";
import { withheldWarnings, type FollowSettings } from "../../domain/follow.ts";
import { invalid } from "../../domain/refusal.ts";
import type { Definition } from "../../domain/snapshot-values.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import { deleteFollow, findFollow, hintLook, saveFollow } from "../../store/connections/follows.ts";
import type { Queries } from "../../store/db.ts";
import { findPlanRole } from "../../store/identities/identities.ts";
import type { UserCaller } from "../callers.ts";
import { findRow } from "../connections/connections.ts";
import type { Followed } from "../connections/follow.ts";
import { ChangedMeanwhileError } from "../large-work.ts";

export async function viewFollow(
  queries: Queries,
  spec: Pick<SpecRow, "id" | "cloud_identity_id">,
  definition: Pick<Definition, "variables" | "environment">,
): Promise<Follow | null> {
  const row = await queries.first(findFollow, { spec: spec.id });
  if (!row) return null;
  const { webhook_problem, ...settings } = JSON.parse(row.settings) as FollowSettings;
  const { cloud_identity_id: id } = spec;
  const role = id === null ? undefined : await queries.first(findPlanRole, { id });
  const hasEvents = row.last_event_at !== null && row.last_event_at >= row.updated_at;
  return {
    connection_id: row.connection_id,
    branch: row.branch,
    ...settings,
    repository: row.repository,
    seen_commit: row.seen_commit,
    warnings: [
      ...withheldWarnings(settings, definition, role?.plan_role_arn === null),
      ...(webhook_problem === null || hasEvents ? [] : [webhook_problem]),
    ],
  };
}

/** A change of what is followed; null ends it, undefined leaves it. */
export type FollowChange = Followed | null | undefined;

/**
 * What a change of a configuration means for what it follows, and the source that it then has: the
 * followed branch stays its `ref`, and following ends when it has another address.
 */
export async function followChange(
  queries: Queries,
  id: string,
  { follow, source }: Pick<UpdateConfiguration, "follow" | "source">,
  before: Source,
  followed: Followed | undefined,
): Promise<{ readonly follow: FollowChange; readonly source: Source | undefined }> {
  if (followed) return { follow: followed, source: onBranch(source ?? before, followed) };
  const row =
    source === undefined || follow === null
      ? undefined
      : await queries.first(findFollow, { spec: id });
  if (!row || !source) return { follow: follow === null ? null : undefined, source };
  if (source.type !== "git" || before.type !== "git" || source.url !== before.url)
    return { follow: null, source };
  if (source.ref !== undefined && source.ref !== row.branch)
    throw invalid(
      "body.source.ref",
      `must be ${row.branch}, the branch that the configuration follows: change \`follow\` instead`,
    );
  return { follow: undefined, source: { ...source, ref: row.branch } };
}

/** Throws ChangedMeanwhileError if the source is not the one that the host was asked about. */
export function onBranch(source: Source, { url, branch }: Followed): Source {
  if (source.type !== "git" || source.url !== url) throw new ChangedMeanwhileError();
  return { ...source, ref: branch };
}

/** Returns what the audit log says of it. */
export async function applyFollow(
  tx: Queries,
  user: UserCaller,
  spec: string,
  change: FollowChange,
  now: number,
): Promise<{ readonly follow?: string }> {
  if (change === undefined) return {};
  const before = await tx.first(findFollow, { spec });
  if (change === null) {
    if (before) await tx.run(deleteFollow, { spec });
    return before ? { follow: "ended" } : {};
  }
  // The connection may be gone by now.
  await findRow(tx, user, change.connection_id);
  const { url: _, ...fields } = change;
  const isSame =
    before?.connection_id === change.connection_id &&
    before.repository_id === change.repository_id &&
    before.branch === change.branch;
  const seen_commit = isSame ? before.seen_commit : null;
  await saveFollow(tx, { spec_id: spec, ...fields, seen_commit, look_at: now, updated_at: now });
  await hintLook(tx, change.connection_id, now, change.repository_id);
  return { follow: `${change.repository} ${change.branch}` };
}
