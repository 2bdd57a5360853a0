/** The configurations of a space as a fleet: what is deployed of each, and when it last changed. */
import { isChanging } from "../../../protocol/words.ts";
import type { ConfigurationStatus } from "../../../protocol/configurations.ts";
import { listSpecIds } from "../../store/configurations/configurations.ts";
import { findTiles, type TileRow } from "../../store/configurations/tiles.ts";
import { time } from "../../domain/moments.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { statusOfDeployed } from "../job-changes/deployed.ts";

export interface Tile {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly status: ConfigurationStatus;
  /** Whether its last run did not succeed and no later one has made that good. */
  readonly isFailed: boolean;
  /** How many checks failed after its last deployment. */
  readonly failed_checks: number | null;
  readonly isDrifted: boolean;
  /** Null: nothing is deployed, or its state is not kept here. */
  readonly resources: number | null;
  /** What last changed it; null if nothing has. */
  readonly changed: {
    readonly at: string;
    readonly by: string | null;
    readonly job: string | null;
  } | null;
}

/** Those of `active`, in their order, then the newest others. Two statements for any number. */
export async function listTiles(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  active: readonly string[],
  limit: number,
): Promise<{ readonly tiles: readonly Tile[]; readonly hasMore: boolean }> {
  const newest = await listSpecIds(read, owner, undefined, limit + 1);
  const ids = [...new Set([...active, ...newest])];
  const specs = JSON.stringify(ids.slice(0, limit));
  const rows = newest.length === 0 ? [] : await read.all(findTiles, { owner, specs });
  const tiles = rows
    .map(tileOf)
    .toSorted((a, b) => a.zone.localeCompare(b.zone) || a.name.localeCompare(b.name));
  return { tiles, hasMore: newest.length > limit };
}

function tileOf({ id, name, zone, ...row }: TileRow): Tile {
  const isKept = row.deployed_backend !== "own" && row.stored_at !== null;
  const { job_type, destroys, last_id } = row;
  const last = job_type === null ? undefined : { job_type, destroys: destroys ?? 0 };
  const deployed = statusOfDeployed(isKept ? row : undefined, last);
  const [at, by, job] = isKept
    ? [row.stored_at, row.writer ?? row.stored_by, row.job_id]
    : [row.ended_at, row.created_by, last_id];
  return {
    id,
    name,
    zone,
    status: isChanging(row.status) ? row.status : deployed,
    isFailed:
      row.status === "FAILED" || (isUnresolved(row.failed_status) && !isChanging(row.status)),
    failed_checks: row.failed_checks,
    isDrifted: row.drift_status === "drifted",
    resources: isKept && deployed === "DEPLOYED" ? row.resource_count : null,
    changed: at === null ? null : { at: time(at), by, job },
  };
}

/** Its runner may have reported another end of the job meanwhile. */
const isUnresolved = (status: TileRow["failed_status"]): boolean =>
  status === "FAILED" || status === "CANCELLED";
