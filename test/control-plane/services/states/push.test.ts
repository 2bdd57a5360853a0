import { describe, expect, it } from "vitest";
import type { StateVersion } from "../../../../protocol/state-versions.ts";
import { addHeldJob, ask, readRow, setRows, stateHeaders } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addSpec } from "../../../helpers/plane/rows.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

const { plane } = planeForFile({ WINDLASS_QUOTA_STATE_MIB: "1" });

const resource = { mode: "managed", type: "terraform_data", name: "a", instances: [{}] };
const state = (serial: number, lineage = "lineage", more: object = {}) =>
  JSON.stringify({ version: 4, serial, lineage, outputs: {}, resources: [resource], ...more });

const encrypted = (serial: number) =>
  `{"serial":${serial},"lineage":"lineage","encrypted_data":"eA==","encryption_version":"v0"}`;

/** A configuration of a user, and a push to its state. */
async function configured() {
  const user = await addTestUser(plane);
  const spec = await addSpec(plane.context.store, user.owner);
  const path = `/api/cli/configurations/${spec}/state/versions`;
  const push = async (body: string, query = "", headers = user.headers) => {
    const answer = await ask(plane, "POST", path + query, { headers, body });
    const json = answer.json() as Partial<StateVersion> & { code?: string; detail?: string };
    return { status: answer.status, ...json };
  };
  const serials = async () => {
    const page = await user.client.call("listStateVersions", { params: { name: spec }, query: {} });
    return page.state_versions.map(({ serial }) => serial);
  };
  return { ...user, spec, path, push, serials };
}

describe("a state that a user pushes", () => {
  it("becomes the newest version, unchanged, and the next one must follow it", async () => {
    const { push, serials, path, headers, spec } = await configured();
    expect(await push(state(7))).toMatchObject({
      status: 201,
      serial: 7,
      lineage: "lineage",
      resources: 1,
      job_id: null,
    });
    expect((await ask(plane, "GET", `${path}/7`, { headers })).text).toBe(state(7));
    expect(await push(state(7))).toMatchObject({ status: 200, serial: 7 });
    for (const refused of [state(7, "lineage", { note: 1 }), state(6), state(8, "other")])
      expect(await push(refused)).toMatchObject({ status: 409, code: "state_conflict" });
    expect(await push(state(9))).toMatchObject({ status: 201, serial: 9 });
    expect(await serials()).toEqual([9, 7]);
    expect(await readRow(plane, "specs", { id: spec })).toMatchObject({
      deployed_backend: "managed",
      status: "DEPLOYED",
    });
  });

  it.each([
    ["managed", 9, { resources: [resource] }],
    ["managed", 7, { resources: [resource] }],
    [null, 9, { resources: [] }],
  ])(
    "moves the state from another backend, also if it is stored or empty (%s)",
    async (backend, serial, more) => {
      const { push, spec } = await configured();
      expect(await push(state(7))).toMatchObject({ status: 201 });
      await setRows(plane, "specs", { deployed_backend: "own" }, { id: spec });
      await push(state(serial, "lineage", more));
      expect(await readRow(plane, "specs", { id: spec })).toMatchObject({
        deployed_backend: backend,
      });
    },
  );

  it("replaces a state of another lineage with force, above the highest serial", async () => {
    const { push, serials, path, headers } = await configured();
    expect(await push(state(3), "?force=true")).toMatchObject({ status: 201, serial: 3 });
    const forced = await push(state(1, "other"), "?force=true");
    expect(forced).toMatchObject({ status: 201, serial: 4, lineage: "other" });
    expect((await ask(plane, "GET", `${path}/4`, { headers })).text).toBe(state(4, "other"));
    expect(await serials()).toEqual([4, 3]);
  });

  it("that the server cannot read counts as one with resources", async () => {
    const { push, client, spec } = await configured();
    const params = { name: spec };
    await push(state(1, "lineage", { resources: [] }));
    expect(await push(encrypted(2))).toMatchObject({ status: 201, resources: null });
    expect(await client.call("getConfiguration", { params })).toMatchObject({
      status: "DEPLOYED",
      state_backend: "managed",
      deployed: { serial: 2, resources: null },
    });
    await expect(client.call("deleteConfiguration", { params })).rejects.toMatchObject({
      code: "configuration_not_empty",
      message: expect.stringContaining("records an unknown number of resources") as string,
    });
    const body = { backend: "own" as const };
    const moved = client.refusal("updateConfiguration", { params, body });
    expect(await moved).toBe("409 configuration_not_empty");
    const query = { keep_resources_of: 2 };
    await client.call("deleteConfiguration", { params, query });
    const { audit_entries } = await client.call("listAuditEntries", {
      query: { action: "configuration.delete" },
    });
    expect(audit_entries[0]).toMatchObject({ details: { kept_resources: null } });
  });

  it("is recorded in the audit log", async () => {
    const { push, client, spec } = await configured();
    await push(state(1));
    const query = { action: "state.push", target_id: spec } as const;
    const { audit_entries } = await client.call("listAuditEntries", { query });
    expect(audit_entries).toMatchObject([{ details: { serial: 1 } }]);
  });

  it.each([
    ["no JSON", "{"],
    ["JSON that is no state", "{}"],
    ["nothing", ""],
    ["a state that is cut off", state(1).slice(0, -1)],
  ])("is refused as %s, with and without force", async (_, body) => {
    const { push, serials } = await configured();
    for (const query of ["", "?force=true"])
      expect(await push(body, query)).toMatchObject({ status: 400 });
    await push(state(1));
    expect(await push(body, "?force=true")).toMatchObject({ status: 400 });
    expect(await serials()).toEqual([1]);
  });

  it("is refused while a job holds the lock", async () => {
    const { push, owner, worker, spec, serials } = await configured();
    const job = await addHeldJob(plane, owner, worker, { spec_id: spec, job_type: "DEPLOY" });
    const headers = stateHeaders(plane, job);
    await ask(plane, "LOCK", `/api/state/${spec}`, { headers, json: { ID: "a" } });
    for (const query of ["", "?force=true"])
      expect(await push(state(1), query)).toMatchObject({ status: 423, code: "state_locked" });
    expect(await serials()).toEqual([]);
  });

  it("is refused for a configuration with a backend of its own", async () => {
    const { push, spec } = await configured();
    const definition = JSON.stringify({ source: { type: "inline", files: {} }, backend: "own" });
    await setRows(plane, "specs", { definition }, { id: spec });
    expect(await push(state(1))).toMatchObject({
      status: 409,
      detail: expect.stringContaining("set its backend to managed") as string,
    });
  });

  it("is refused beyond the quota, and leaves no blob", async () => {
    const { push } = await configured();
    const large = state(1, "lineage", { note: "x".repeat(1_100_000) });
    const before = await plane.blobs();
    expect(await push(large)).toMatchObject({ status: 409, code: "quota_exceeded" });
    expect(await plane.blobs()).toBe(before);
  });

  it("is refused to other users", async () => {
    const { push } = await configured();
    const { headers } = await addTestUser(plane);
    expect(await push(state(1), "", headers)).toMatchObject({ status: 404 });
  });
});
