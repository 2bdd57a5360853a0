/** Ids are accepted in upper case wherever a request carries them. */
import { beforeAll, expect, it } from "vitest";
import { callsOf, type Calls } from "../../helpers/plane/calls.ts";
import { addTestUser } from "../../helpers/people/user.ts";
import {
  addHeldJob,
  ask,
  jobCredential,
  readJob,
  type TestWorker,
  setRows,
} from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addJob, addSpec, type Owner } from "../../helpers/plane/rows.ts";
import { openPerson } from "../../helpers/people/sign-in.ts";

const { plane } = planeForFile();
let owner: Owner;
let spec: string;
let worker: TestWorker;
let client: Calls;
let runner: Calls;
beforeAll(async () => {
  ({ owner, worker, client, runner } = await addTestUser(plane));
  spec = await addSpec(plane.context.store, owner);
});

const capital = (id: string) => ({ id: id.toUpperCase() });

it("upper-case ids work in paths", async () => {
  const { id: job } = await addJob(plane.context.store, owner, { spec_id: spec });
  expect(await client.call("getZone", { params: capital(owner.zone) })).toMatchObject({
    id: owner.zone,
  });
  expect(await client.call("getWorker", { params: capital(worker.id) })).toMatchObject({
    id: worker.id,
  });
  expect(await runner.call("readWorker", { params: capital(worker.id) })).toMatchObject({
    id: worker.id,
  });
  expect(await client.call("cancelJob", { params: capital(job) })).toMatchObject({
    id: job,
  });
  const name = spec.toUpperCase();
  expect(await client.call("getConfiguration", { params: { name } })).toMatchObject({
    id: spec,
  });
});

it("upper-case ids work in bodies and queries", async () => {
  const of = await addSpec(plane.context.store, owner);
  const { id } = await client.call("createJob", {
    body: {
      job_type: "PLAN",
      configuration_id: of.toUpperCase(),
      assigned_worker_id: worker.id.toUpperCase(),
    },
  });
  const stored = await readJob(plane, { id } as never);
  expect(stored).toMatchObject({ spec_id: of, assigned_worker_id: worker.id });
  const query = { zone_id: owner.zone.toUpperCase(), limit: 1 };
  const page = await client.call("listJobs", { query });
  expect(page.jobs).toMatchObject([{ id }]);
  const cursor = page.next_cursor?.toUpperCase() ?? "";
  const next = await client.call("listJobs", { query: { ...query, cursor } });
  expect(next.jobs.map((job) => job.id)).not.toContain(id);
  const made = await client.call("createConfiguration", {
    body: {
      name: "made",
      zone_id: owner.zone.toUpperCase(),
      source: { type: "inline", files: { "main.tf": "" } },
    },
  });
  expect(made.zone_id).toBe(owner.zone);
  const { metadata } = await client.call("updateWorker", {
    params: worker,
    body: { deploy_configuration: { configuration_id: of.toUpperCase() } },
  });
  expect(metadata).toEqual({ deploy_configuration: { configuration_id: of, all: true } });
});

it("upper-case ids work in a heartbeat's list of jobs", async () => {
  const of = await addSpec(plane.context.store, owner);
  const job = await addHeldJob(plane, owner, worker, { spec_id: of });
  const beat = (active_job_ids: string[]) =>
    runner.call("heartbeat", { body: { version: "1.0.0", active_job_ids } });
  await beat([job.id.toUpperCase()]);
  expect((await readJob(plane, job)).omitted_at).toBeNull();
  await beat([]);
  expect((await readJob(plane, job)).omitted_at).not.toBeNull();
});

it("upper-case ids work in credentials and for the state of a job token", async () => {
  const of = await addSpec(plane.context.store, owner);
  const job = await addHeldJob(plane, owner, worker, { spec_id: of });
  const { username, password } = jobCredential(plane, job);
  const basic = Buffer.from(`${username.toUpperCase()}:${password}`).toString("base64");
  const headers = { authorization: `Basic ${basic}` };
  const { status } = await ask(plane, "GET", `/api/state/${of.toUpperCase()}`, { headers });
  // No state has been written.
  expect(status).toBe(204);
  const capitals = { ...worker.headers, "x-worker-id": worker.id.toUpperCase() };
  await callsOf(plane, capitals).call("heartbeat", { body: { version: "1.0.0" } });
});

it("upper-case ids work in the addresses of pages", async () => {
  const browser = await openPerson(plane);
  const zone = await callsOf(plane, browser.headers).call("createZone", {
    body: { name: "seen" },
  });
  const page = await ask(plane, "GET", `/zones/${zone.id.toUpperCase()}`, browser);
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining("seen") });
});

it("the id of a configuration cannot be the name of another, and one that has such a name hides nothing", async () => {
  const source = { type: "inline", files: { "main.tf": "" } } as const;
  const zone_id = owner.zone;
  const first = { name: "first", zone_id, source };
  const { id: known } = await client.call("createConfiguration", { body: first });
  const body = { name: known, zone_id, source };
  expect(await client.refusal("createConfiguration", { body })).toBe("409 name_taken");
  const { id } = await client.call("createConfiguration", {
    body: { ...body, name: "hider" },
  });
  const params = { name: id };
  expect(await client.refusal("updateConfiguration", { params, body: { name: known } })).toBe(
    "409 name_taken",
  );
  // An older version accepted such a name.
  await setRows(plane, "specs", { name: known }, { id });
  const find = async (name: string) =>
    (await client.call("getConfiguration", { params: { name } })).id;
  expect([await find(known), await find(id)]).toEqual([known, id]);
  const relabelled = { name: known, labels: ["kept"] };
  await client.call("updateConfiguration", { params, body: relabelled });
  await client.call("updateConfiguration", { params, body: { name: "renamed" } });
});
