/** The events of a worker, in the transaction of its change. */
import type { Queries } from "../../store/db.ts";
import { system } from "../audit/audit.ts";
import type { WorkerCaller } from "../callers.ts";
import { recordEvent } from "../events/record.ts";

/** None of a worker that serves all spaces, nor of one that is made for its jobs and removed after them. */
export async function recordWorkerEvent(
  tx: Queries,
  now: number,
  type: "worker.online" | "worker.offline",
  {
    id,
    name,
    owner_id: owner,
    ephemeral,
  }: Pick<WorkerCaller, "id" | "name" | "owner_id" | "ephemeral">,
): Promise<void> {
  if (owner === null || ephemeral === 1) return;
  await recordEvent(tx, now, {
    type,
    owner,
    about: id,
    by: system,
    data: { worker: { id, name } },
  });
}
