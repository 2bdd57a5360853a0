/** People go before connections, and these before schedules, until a job has waited long enough. */
import { v7 as uuid } from "uuid";
import { expect, it } from "vitest";
import { minute } from "../../../../common/units.ts";
import type { JobRow } from "../../../../control-plane/domain/job.ts";
import { addRunner, addTestUser } from "../../../helpers/people/user.ts";
import { addTestWorker, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addJob, addSpec } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();

async function addQueue() {
  const { owner, runner, client, worker } = await addTestUser(plane);
  const queue = async (
    queue_class: JobRow["queue_class"],
    { waited = 0, ...change }: Partial<JobRow> & { readonly waited?: number } = {},
  ) => {
    const created_at = plane.context.now() - waited;
    const spec_id = await addSpec(plane.context.store, owner);
    const id = uuid({ msecs: created_at });
    const job = { id, spec_id, queue_class, created_at, ...change };
    return (await addJob(plane.context.store, owner, job)).id;
  };
  const next = async () => (await runner.ask("claimJob"))?.job.id;
  const reasonOf = async (id: string) =>
    (await client.call("getJob", { params: { id } })).waiting_reason;
  return { owner, client, worker, queue, next, reasonOf };
}

it("500 nightly jobs never keep a person waiting", async () => {
  const { queue, next } = await addQueue();
  const nightly: string[] = [];
  for (let n = 0; n < 500; n += 1) nightly.push(await queue(2, { waited: 20 * minute - n }));
  const [ofConnection, ofPerson] = [await queue(1), await queue(0)];
  expect([await next(), await next(), await next()]).toEqual([ofPerson, ofConnection, nightly[0]]);
});

it("what has waited for 30 minutes is served like the jobs of people, the oldest first", async () => {
  const { queue, next } = await addQueue();
  const young = await queue(2, { waited: 29 * minute });
  const person = await queue(0, { waited: 32 * minute });
  const lifted = await queue(2, { waited: 31 * minute });
  const oldest = await queue(1, { waited: 33 * minute });
  const newest = await queue(0);
  const taken = [await next(), await next(), await next(), await next(), await next()];
  expect(taken).toEqual([oldest, person, lifted, newest, young]);
});

it("of one configuration, a person goes before a schedule that came first", async () => {
  const { owner, queue, next } = await addQueue();
  const spec_id = await addSpec(plane.context.store, owner);
  await queue(2, { spec_id });
  const person = await queue(0, { spec_id });
  expect(await next()).toBe(person);
  expect(await next()).toBeUndefined();
});

it("several runners at once take the jobs in that order", async () => {
  const { owner, queue, next } = await addQueue();
  const nightly = await Promise.all([1, 2, 3, 4].map((n) => queue(2, { waited: n * minute })));
  const people = await Promise.all([queue(0), queue(0), queue(1)]);
  const runners = await Promise.all(people.map(() => addRunner(plane, owner)));
  const taken = await Promise.all(runners.map((runner) => runner.ask("claimJob")));
  expect(new Set(taken.map((claim) => claim?.job.id))).toEqual(new Set(people));
  expect(await next()).toBe(nightly[3]);
});

it("says behind what a job waits, until it is served like the others", async () => {
  const { owner, client, queue, reasonOf } = await addQueue();
  const nightly = await queue(2, { created_at: Date.parse("2026-11-27T13:35:00Z") });
  expect(await reasonOf(nightly)).toBe("waiting_for_worker");
  await queue(0);
  await queue(0);
  // What its worker cannot take does not go first.
  await queue(0, { labels: '["gpu"]' });
  const sentence =
    "waits behind 2 jobs that people queued and 1 job that connections queued; at 14:05 UTC it is served like those of people";
  const ofConnection = await queue(1);
  expect(await reasonOf(nightly)).toBe(sentence);
  expect(await reasonOf(ofConnection)).toContain("waits behind 2 jobs that people queued; at ");
  const { jobs } = await client.call("listJobs", { query: { status: "QUEUED" } });
  expect(jobs.find(({ id }) => id === nightly)?.waiting_reason).toBe(sentence);
  const lifted = await queue(2, { waited: 31 * minute });
  expect(await reasonOf(lifted)).toBe("waiting_for_worker");
  // Its own obstacles are said first.
  await addTestWorker(plane, owner);
  await setRows(plane, "workers", { offline_at: 1 }, { owner_id: owner.id });
  expect(await reasonOf(nightly)).toBe("no_worker_online");
});
