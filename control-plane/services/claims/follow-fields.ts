/** What a runner gets of the connection through which a configuration follows a branch. */
import type { ClaimedJob } from "../../../protocol/executions.ts";
import type { Change } from "../../../protocol/follow.ts";
import { withheldLimit } from "../../../protocol/limits.ts";
import { headRef } from "../../code-hosts/kinds.ts";
import type { Definition } from "../../domain/snapshot-values.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import { findDefined } from "../../store/configurations/configurations.ts";
import { findAnyConnection } from "../../store/connections/connections.ts";
import { findFollow } from "../../store/connections/follows.ts";
import { findChange } from "../../store/connections/job-changes.ts";
import { cloneAccessOf } from "../connections/hosts.ts";
import type { Context } from "../context.ts";
import { shortOf } from "../definitions.ts";

type Fields = Pick<ClaimedJob["job"], "source_access" | "merge" | "plan_digest_key" | "withheld">;

/** Reads nothing for a job that asks for none of it. */
export async function followFields(
  context: Context,
  { id, spec_id: spec, features, config_snapshot }: ClaimRow,
): Promise<Fields> {
  const asked = JSON.parse(features) as readonly string[];
  return {
    ...(asked.includes("source_access") && spec !== null
      ? await sourceAccess(context, spec, config_snapshot ?? "{}")
      : {}),
    ...(asked.includes("merge") ? await mergeOf(context, id) : {}),
    ...(asked.includes("plan_digest") && spec !== null
      ? { plan_digest_key: digestKey(context, spec) }
      : {}),
  };
}

/** For the address that was compared with the repository when following began, and no other. */
async function sourceAccess(
  context: Context,
  spec: string,
  snapshot: string,
): Promise<Pick<Fields, "source_access">> {
  const { read } = context.store;
  const follow = await read.first(findFollow, { spec });
  const defined = await read.first(findDefined, { id: spec });
  if (!follow || !defined) return {};
  const { source: own } = shortOf<Definition>(defined.definition);
  const { source } = JSON.parse(snapshot) as Partial<Definition>;
  if (source?.type !== "git" || own?.type !== "git" || source.url !== own.url) return {};
  const connection = await read.first(findAnyConnection, { id: follow.connection_id });
  const access = connection && (await cloneAccessOf(context, connection, follow.repository_id));
  return access ? { source_access: { ...access, expires_at: access.expires_at ?? null } } : {};
}

async function mergeOf(
  { store: { read } }: Context,
  job: string,
): Promise<Pick<Fields, "merge" | "withheld">> {
  const found = await read.first(findChange, { job });
  if (!found) return {};
  const { branch, base_commit = null, pull_request } = JSON.parse(found.change) as Change;
  const withheld = (JSON.parse(found.withheld) as string[]).slice(0, withheldLimit);
  const connection =
    found.connection_id === null
      ? undefined
      : await read.first(findAnyConnection, { id: found.connection_id });
  const head_ref =
    connection && pull_request ? headRef(connection.kind, pull_request.number) : undefined;
  return {
    merge: { base_branch: branch, base_commit, ...(head_ref ? { head_ref } : {}) },
    ...(withheld.length > 0 ? { withheld } : {}),
  };
}

/** One key for each configuration, so that digests of different ones say nothing about each other. */
const digestKey = ({ box }: Context, spec: string): string =>
  Buffer.from(box("plan-digest").sign(spec), "base64url").toString("hex");
