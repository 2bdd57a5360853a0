import { describe, expect, it } from "vitest";
import { mebibyte } from "../../../../common/units.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import { addHeldJob, ask, setJob, stateHeaders } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addSpec } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();

/** Not the format of JSON.stringify: the big number must be preserved. */
const state = (serial: number, lineage = "lineage") =>
  `{\n  "version": 4,\n  "note": "\\"serial\\": 9",\n  "serial": ${serial},\n  "lineage": "${lineage}",\n  "outputs": {"serial": 12345678901234567890},\n  "resources": [{}]\n}\n`;

/** A configuration whose running job holds the lock and has written these serials. */
async function written(...serials: number[]) {
  const { owner, worker, ...user } = await addTestUser(plane);
  const spec = await addSpec(plane.context.store, owner);
  const job = await addHeldJob(plane, owner, worker, { spec_id: spec, job_type: "DEPLOY" });
  const basic = stateHeaders(plane, job);
  const speak = (method: string, body: string, query = "") =>
    ask(plane, method, `/api/state/${spec}${query}`, { headers: basic, body });
  await speak("LOCK", '{"ID":"a"}');
  for (const serial of serials)
    expect((await speak("POST", state(serial), "?ID=a")).status).toBe(200);
  const unlock = () => speak("UNLOCK", '{"ID":"a"}');
  const read = () => ask(plane, "GET", `/api/state/${spec}`, { headers: basic });
  return { ...user, spec, job, unlock, read, params: { name: spec } };
}

describe("the versions of a state", () => {
  it("are listed newest first, in pages, and downloaded as they were written", async () => {
    const { client, headers, params, spec, job } = await written(1, 2, 5);
    const all = await client.call("listStateVersions", { params, query: {} });
    expect(all.state_versions.map(({ serial }) => serial)).toEqual([5, 2, 1]);
    expect(all.state_versions[0]).toMatchObject({ lineage: "lineage", job_id: job.id });
    const first = await client.call("listStateVersions", { params, query: { limit: 2 } });
    expect(first.state_versions.map(({ serial }) => serial)).toEqual([5, 2]);
    const cursor = first.next_cursor ?? "";
    const rest = await client.call("listStateVersions", { params, query: { limit: 2, cursor } });
    expect(rest).toMatchObject({ state_versions: [{ serial: 1 }], next_cursor: null });
    const path = `/api/cli/configurations/${spec}/state/versions`;
    const download = await ask(plane, "GET", `${path}/2`, { headers });
    expect(download.text).toBe(state(2));
    expect((await ask(plane, "GET", `${path}/3`, { headers })).status).toBe(404);
    expect((await ask(plane, "GET", `${path}/x`, { headers })).status).toBe(400);
  });

  it("are rolled back to by adding a version above the highest, with every other byte unchanged", async () => {
    const { client, params, unlock, read } = await written(1, 2, 7);
    await unlock();
    const made = await client.call("rollBackState", { params: { ...params, serial: "1" } });
    expect(made).toMatchObject({ serial: 8, job_id: null, lineage: "lineage" });
    expect(await client.call("getConfiguration", { params })).toMatchObject({
      deployed: { serial: 8, resources: 1, job_id: null, by: expect.stringContaining("@") },
    });
    expect((await read()).text).toBe(state(8));
    const { state_versions } = await client.call("listStateVersions", { params, query: {} });
    expect(state_versions.map(({ serial }) => serial)).toEqual([8, 7, 2, 1]);
  });

  it("are rolled back to one at a time, and only two of one user may wait", async () => {
    const pad = "x".repeat(mebibyte);
    const large = `{"version":4,"serial":1,"lineage":"lineage","pad":"${pad}","resources":[]}`;
    const users = await Promise.all(
      [0, 1, 2].map(async () => {
        const { owner, client, headers } = await addTestUser(plane);
        const spec = await addSpec(plane.context.store, owner);
        const path = `/api/cli/configurations/${spec}/state/versions`;
        const { status } = await ask(plane, "POST", path, { headers, body: large });
        expect(status).toBe(201);
        return { client, params: { name: spec, serial: "1" } };
      }),
    );
    const asked = users.flatMap(({ client, params }) =>
      [1, 2, 3].map(() =>
        client.call("rollBackState", { params }).then(
          ({ serial }) => serial,
          (error: { code: string }) => error.code,
        ),
      ),
    );
    const answers = await Promise.all(asked);
    const count = (answer: unknown) => answers.filter((one) => one === answer).length;
    expect([2, 3, "too_many_requests"].map(count)).toEqual([3, 3, 3]);
  });

  it("cannot be rolled back to while the state is locked", async () => {
    const { client, params } = await written(1, 2);
    expect(await client.refusal("rollBackState", { params: { ...params, serial: "1" } })).toBe(
      "423 state_locked",
    );
  });

  it("are not found by other users", async () => {
    const { spec, params } = await written(1);
    const { headers, client } = await addTestUser(plane);
    const { refusal } = client;
    expect(await refusal("listStateVersions", { params, query: {} })).toBe("404 not_found");
    expect(await refusal("getStateLock", { params })).toBe("404 not_found");
    expect(await refusal("breakStateLock", { params })).toBe("404 not_found");
    expect(await refusal("rollBackState", { params: { ...params, serial: "1" } })).toBe(
      "404 not_found",
    );
    const path = `/api/cli/configurations/${spec}/state/versions/1`;
    expect((await ask(plane, "GET", path, { headers })).status).toBe(404);
  });
});

describe("breaking a state lock", () => {
  it("lets a waiting claim take the job that waited for the lock", async () => {
    const { client, runner, params, spec, job } = await written(1);
    await setJob(plane, job, { status: "FAILED", ended_at: 1, released_at: 1 });
    const body = { job_type: "PLAN" as const, configuration_id: spec };
    const { id } = await client.call("createJob", { body });
    expect((await client.call("getJob", { params: { id } })).waiting_reason).toBe("state_locked");
    expect(await client.call("getStateLock", { params })).toMatchObject({
      state_lock: { job_id: job.id, held: false },
    });
    const claim = runner.call("claimJob", { query: { wait: 20 } });
    await client.call("breakStateLock", { params });
    expect(await client.call("getStateLock", { params })).toEqual({ state_lock: null });
    expect((await claim).job.id).toBe(id);
    // Without a lock it succeeds and does nothing.
    await client.call("breakStateLock", { params });
  });

  it("is refused while the job that holds the lock runs", async () => {
    const { client, params } = await written(1);
    const { state_lock } = await client.call("getStateLock", { params });
    expect(state_lock).toMatchObject({ held: true });
    expect(await client.refusal("breakStateLock", { params })).toBe("409 configuration_busy");
  });
});
