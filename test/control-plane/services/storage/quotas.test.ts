/**
 * Quotas per owner: a request above a quota is refused with the limit, but a running job is never
 * refused.
 */
import { gzipSync } from "node:zlib";
import { randomBytes } from "node:crypto";
import { setImmediate as ringsAreOver } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { addHeldJob, addTestWorker, ask, clientHeaders } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openPerson } from "../../../helpers/people/sign-in.ts";
import { addTeam, join, newSlug } from "../../../helpers/people/teams.ts";
import { addOwner, addSpec, type Owner } from "../../../helpers/plane/rows.ts";
import type { UserCaller } from "../../../../control-plane/services/callers.ts";
import { createJob } from "../../../../control-plane/services/jobs/jobs.ts";
import { setFact } from "../../../../control-plane/store/facts.ts";
import { addState } from "../../../../control-plane/store/states/states.ts";
import { findUsage } from "../../../../control-plane/store/storage/quotas.ts";

const { plane } = planeForFile({
  WINDLASS_QUOTA_QUEUED_JOBS: "2",
  WINDLASS_QUOTA_CONFIGURATIONS: "2",
  WINDLASS_QUOTA_WORKERS: "2",
  WINDLASS_QUOTA_ZONES: "2",
  WINDLASS_QUOTA_IDENTITIES: "2",
  WINDLASS_QUOTA_TEAMS: "2",
  WINDLASS_QUOTA_ARCHIVE_MIB: "0.002",
  WINDLASS_QUOTA_STATE_MIB: "0.001",
  WINDLASS_QUOTA_LOG_MIB: "0.001",
});

async function person() {
  const owner = await addOwner(plane.context.store);
  const headers = await clientHeaders(plane, owner);
  const json = { ...headers, "content-type": "application/json" };
  const post = async (path: string, body: object) => {
    const answer = await ask(plane, "POST", path, { headers: json, body: JSON.stringify(body) });
    return {
      status: answer.status,
      body: JSON.parse(answer.text) as Record<string, unknown>,
    };
  };
  return { owner, headers, post };
}

const fillStates = async (owner: Owner, spec_id: string, size_bytes: number): Promise<void> => {
  const content = { serial: 1, lineage: "l", md5: "", resource_count: 0, blob: spec_id };
  const row = { ...content, job_id: null, stored_by: null, copy_of: null };
  await plane.context.store.write((tx) =>
    addState(tx, { spec_id, ...row, size_bytes, created_at: 1 }),
  );
  const usage = await plane.context.store.read.first(findUsage, { owner: owner.id });
  expect(usage?.state_bytes).toBe(size_bytes);
};

describe("the quota", () => {
  it("of queued jobs refuses the next job until one has ended", async () => {
    const { owner, headers, post } = await person();
    const spec = await addSpec(plane.context.store, owner);
    const create = () => post("/api/jobs", { job_type: "PLAN", configuration_id: spec });
    const first = await create();
    expect([first.status, (await create()).status]).toEqual([201, 201]);
    const refused = await create();
    expect(refused).toMatchObject({ status: 409, body: { code: "quota_exceeded" } });
    expect(refused.body["detail"]).toContain("2 jobs");
    await ask(plane, "POST", `/api/cli/jobs/${String(first.body["id"])}/cancel`, { headers });
    expect((await create()).status).toBe(201);
    const metrics = (await ask(plane, "GET", "/metrics")).text;
    expect(metrics).toContain('windlass_quota_refusals_total{quota="queued_jobs"}');
  });

  it("of workers refuses the next one, also with a registration token, until one is removed", async () => {
    const { headers, post } = await person();
    const register = () => post("/api/workers/register", { name: "runner" });
    const { body } = await register();
    const token = await post("/api/cli/registration-tokens", {});
    expect((await register()).status).toBe(201);
    const refused = await register();
    expect(refused).toMatchObject({ status: 409, body: { code: "quota_exceeded" } });
    expect(refused.body["detail"]).toContain("2 workers");
    const withToken = () =>
      ask(plane, "POST", "/api/workers/register", {
        headers: {
          "x-registration-token": String(token.body["registration_token"]),
          "content-type": "application/json",
        },
        body: JSON.stringify({ name: "runner" }),
      });
    expect((await withToken()).status).toBe(409);
    await ask(plane, "DELETE", `/api/cli/workers/${String(body["worker_id"])}`, { headers });
    // A refusal has not used the token up.
    expect((await withToken()).status).toBe(201);
  });

  it("of zones refuses the next one until one is deleted", async () => {
    const { client } = await openPerson(plane);
    const create = (name: string) => client.call("createZone", { body: { name } });
    const first = await create("one");
    await create("two");
    const third = { body: { name: "three" } };
    expect(await client.refusal("createZone", third)).toBe("409 quota_exceeded");
    await client.call("deleteZone", { params: { id: first.id } });
    await create("three");
  });

  it("of zones refuses a zone that moves to the space", async () => {
    const admin = await openPerson(plane);
    const { slug, calls } = await addTeam(plane, admin);
    const { id } = await admin.client.call("createZone", { body: { name: "moving" } });
    for (const name of ["one", "two"]) await calls.call("createZone", { body: { name } });
    const move = { params: { id }, body: { team: slug } };
    expect(await admin.client.refusal("updateZone", move)).toBe("409 quota_exceeded");
  });

  it("of cloud identities refuses the next one", async () => {
    const { client } = await openPerson(plane);
    const body = (name: string) => ({
      body: { name, provider: "aws" as const, role_arn: "arn:aws:iam::123456789012:role/a" },
    });
    await client.call("createCloudIdentity", body("one"));
    await client.call("createCloudIdentity", body("two"));
    const third = body("three");
    expect(await client.refusal("createCloudIdentity", third)).toBe("409 quota_exceeded");
  });

  it("of teams counts those that a user has created and not left", async () => {
    const [ada, other] = [await openPerson(plane), await openPerson(plane)];
    const { admin, slug } = await addTeam(plane, other);
    await join(plane, admin, slug, ada, "admin");
    const first = await addTeam(plane, ada);
    await addTeam(plane, ada);
    const third = { body: { name: "Third", slug: newSlug() } };
    expect(await ada.client.refusal("createTeam", third)).toBe("409 quota_exceeded");
    await ada.client.call("deleteTeam", { params: first.params });
    await ada.client.call("createTeam", third);
  });

  it("counts a refusal once if the transaction is run again", async () => {
    const { context } = plane;
    const { owner } = await person();
    const spec = await addSpec(context.store, owner);
    const user: UserCaller = {
      user_id: owner.id,
      email: "ada@example.com",
      login_id: "none",
      login_kind: "cli",
      space_id: owner.id,
      role: "admin",
      spaces: [],
      origin: { ip: "127.0.0.1", id: "request", headers: {} },
    };
    const create = () => createJob(context, user, { job_type: "PLAN", configuration_id: spec });
    await create();
    await create();
    const counted: string[] = [];
    const unlisten = context.wakeups.listen("quota", (quota) => counted.push(quota));
    // Both share a commit. The second one fails halfway, so the first one is run twice.
    const results = await Promise.allSettled([
      create(),
      context.store.write(async (tx) => {
        await setFact(tx, "half", "written");
        throw new Error("half way");
      }),
    ]);
    await ringsAreOver();
    unlisten();
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(counted).toEqual(["queued_jobs"]);
  });

  it("of configurations is counted per owner", async () => {
    const [one, other] = [await person(), await person()];
    const create = ({ owner, post }: typeof one, name: string) =>
      post("/api/cli/configurations", {
        name,
        zone_id: owner.zone,
        source: { type: "inline", files: { "main.tf": "" } },
      });
    expect((await create(one, "a")).status).toBe(201);
    expect((await create(one, "b")).status).toBe(201);
    expect(await create(one, "c")).toMatchObject({ status: 409, body: { code: "quota_exceeded" } });
    expect((await create(other, "c")).status).toBe(201);
  });

  it("of archives counts the same content once", async () => {
    const { owner, headers } = await person();
    const upload = async (body: Buffer) =>
      (
        await ask(plane, "POST", "/api/cli/archives", {
          headers: { ...headers, "content-type": "application/gzip" },
          body,
        })
      ).status;
    const [first, second] = [gzipSync(randomBytes(1200)), gzipSync(randomBytes(1200))];
    expect(await upload(first)).toBe(201);
    expect(await upload(second)).toBe(409);
    expect(await upload(first)).toBe(200);
    const usage = await plane.context.store.read.first(findUsage, { owner: owner.id });
    expect(usage?.archive_bytes).toBe(first.length);
  });

  it("of states refuses a new DEPLOY, but neither a PLAN nor a DESTROY", async () => {
    const { owner, post } = await person();
    const spec = await addSpec(plane.context.store, owner);
    await fillStates(owner, spec, 2000);
    const create = (job_type: string) => post("/api/jobs", { job_type, configuration_id: spec });
    expect(await create("DEPLOY")).toMatchObject({ status: 409, body: { code: "quota_exceeded" } });
    expect((await create("PLAN")).status).toBe(201);
    expect((await create("DESTROY")).status).toBe(201);
  });
});

it("log text above the quota is dropped and the posts still return 201", async () => {
  const owner = await addOwner(plane.context.store);
  const worker = await addTestWorker(plane, owner);
  const job = await addHeldJob(plane, owner, worker);
  const headers = { ...worker.headers, "content-type": "application/json" };
  const append = async (seq: number, length: number) => {
    const body = JSON.stringify({ log_chunk: "x".repeat(length), stream_type: "STDOUT", seq });
    const answer = await ask(plane, "POST", `/api/jobs/${job.id}/logs`, { headers, body });
    return { status: answer.status, id: (JSON.parse(answer.text) as { id: number }).id };
  };
  const first = await append(1, 900);
  const dropped = await append(2, 900);
  expect(dropped).toEqual({ status: 201, id: first.id });
  // A log has no holes: what would still fit is dropped too.
  expect((await append(3, 10)).status).toBe(201);
  // A repeated chunk is neither counted twice nor missing.
  expect((await append(3, 10)).status).toBe(200);
  expect((await append(4, 10)).status).toBe(201);
  const report = JSON.stringify({ status: "SUCCESS", last_seq: 4 });
  const ended = await ask(plane, "PUT", `/api/jobs/${job.id}/status`, { headers, body: report });
  expect(JSON.parse(ended.text)).toMatchObject({
    status: "SUCCESS",
    log_complete: false,
  });
  const log = await ask(plane, "GET", `/api/jobs/${job.id}/logs`, { headers: worker.headers });
  const { logs } = JSON.parse(log.text) as { logs: { log_chunk: string }[] };
  expect(logs.map(({ log_chunk }) => log_chunk.length)).toEqual([900]);
  const metrics = (await ask(plane, "GET", "/metrics")).text;
  expect(metrics).toMatch(/^windlass_log_dropped_bytes_total \d+$/m);
});
