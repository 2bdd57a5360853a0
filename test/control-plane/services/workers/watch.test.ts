import { expect, it } from "vitest";
import { watchOnce } from "../../../../control-plane/services/workers/watch.ts";
import { addHeldJob, addTestWorker, readJob, readRows } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { addOwner } from "../../../helpers/rows.ts";

const { plane } = planeForFile();

it("writes one system entry when an unacknowledged cancel releases its configuration", async () => {
  const owner = await addOwner(plane.context.store);
  const worker = await addTestWorker(plane, owner);
  const cancelled = { status: "CANCELLED", started_at: 1, cancelled_at: 2, ended_at: 2 } as const;
  const job = await addHeldJob(plane, owner, worker, cancelled);
  await watchOnce(plane.context, 0);
  await watchOnce(plane.context, 0);
  expect((await readJob(plane, job)).released_at).not.toBeNull();
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
