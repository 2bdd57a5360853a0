/** What the log and the metrics read of jobs. */
import { expect, it } from "vitest";
import { jobFactsOf } from "../../../../control-plane/services/operations/job-facts.ts";
import type { Store } from "../../../../control-plane/store/db.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

/** The store, and how many queries read from it. */
function counted() {
  const { store } = plane.context;
  const counts = { reads: 0 };
  const read = Object.create(store.read, {
    all: {
      value: (...query: Parameters<typeof store.read.all>) => {
        counts.reads += 1;
        return store.read.all(...query);
      },
    },
  }) as Store["read"];
  return { store: Object.create(store, { read: { value: read } }) as Store, counts };
}

it("reads the jobs of all events of a moment by one query, for every listener", async () => {
  const user = await openSampleUser(plane, "ada@example.com");
  const configuration_id = await user.configure("network");
  const jobs = await Promise.all(
    Array.from({ length: 5 }, () => user.queue({ job_type: "PLAN", configuration_id })),
  );
  const { store, counts } = counted();
  const [forLog, forMetrics] = [jobFactsOf(store), jobFactsOf(store)];
  const asked = jobs.flatMap(({ id }) => [forLog(id), forMetrics(id)]);
  const [unknown, ...found] = await Promise.all([forLog("unknown"), ...asked]);
  expect(unknown).toBeUndefined();
  expect(found.map((facts) => facts?.id)).toEqual(jobs.flatMap(({ id }) => [id, id]));
  expect(counts.reads).toBe(1);
});

it("never returns what was read before it was asked for", async () => {
  const user = await openSampleUser(plane, "grace@example.com");
  const configuration_id = await user.configure("network");
  const { id } = await user.queue({ job_type: "PLAN", configuration_id });
  const find = jobFactsOf(plane.context.store);
  const before = find(id);
  await user.start();
  expect((await find(id))?.started_at).not.toBeNull();
  await before;
});
