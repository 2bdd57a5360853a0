import { expect, it } from "vitest";
import { addLock } from "../../../../control-plane/store/states/states.ts";
import { watchOnce } from "../../../../control-plane/services/workers/watch.ts";
import { addHeldJob, addTestWorker, readJob, readRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addOwner, addSpec } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();

it("releases a configuration after an unacknowledged cancel, keeps its state locked and writes one system entry", async () => {
  const owner = await addOwner(plane.context.store);
  const worker = await addTestWorker(plane, owner);
  const cancelled = { status: "CANCELLED", started_at: 1, cancelled_at: 2, ended_at: 2 } as const;
  const spec_id = await addSpec(plane.context.store, owner);
  const job = await addHeldJob(plane, owner, worker, { ...cancelled, spec_id });
  const lock = { spec_id, lock_id: "l", job_id: job.id, info: "{}" };
  await plane.context.store.write((tx) => addLock(tx, { ...lock, created_at: 1 }));
  await watchOnce(plane.context, 0);
  await watchOnce(plane.context, 0);
  const released = await readJob(plane, job);
  expect(released.released_at).not.toBeNull();
  // Its terraform may still be running, or may have been killed.
  expect(released.outcome_unknown).toBe(1);
  expect(await readRows(plane, "state_locks", { job_id: job.id })).toHaveLength(1);
  const entries = await readRows(plane, "audit_entries", { target_id: job.id });
  expect(entries).toMatchObject([
    { action: "job.release", owner_id: owner.id, actor_kind: "system", actor_id: null },
  ]);
  expect(entries[0]).toMatchObject({ ip_address: null, user_agent: null, request_id: null });
  expect(JSON.parse(entries[0]?.details ?? "")).toEqual({
    status: "CANCELLED",
    status_before: "CANCELLED",
    worker_id: worker.id,
    attempt: 1,
  });
});
