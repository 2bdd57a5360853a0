import { describe, expect } from "vitest";
import { findUsage } from "../../../../control-plane/store/storage/quotas.ts";
import {
  addHeldJob,
  ask,
  readRow,
  readRows,
  setRows,
  stateHeaders,
} from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addJob, addRule, addSpec } from "../../../helpers/plane/rows.ts";
import { addMember, addTeam, join } from "../../../helpers/people/teams.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

const { plane, it } = planeForFile();
const usageOf = async (owner: string) =>
  (await plane.context.store.read.first(findUsage, { owner }))?.state_bytes;

describe("a zone", () => {
  it("moves to a team with its configurations, jobs, states and archives, and back", async () => {
    const user = await addTestUser(plane);
    const { owner, client, worker, headers } = user;
    const { slug, calls } = await addTeam(plane, user);
    const uploaded = await ask(plane, "POST", "/api/cli/archives", {
      headers: { ...headers, "content-type": "application/gzip" },
      body: Buffer.of(0x1f, 0x8b, 1, 2, 3),
    });
    const source = { type: "archive", sha256: String(uploaded.json()["sha256"]) } as const;
    const { id: spec } = await client.call("createConfiguration", {
      body: { name: "network", zone_id: owner.zone, source },
    });
    const job = await addHeldJob(plane, owner, worker, { spec_id: spec, started_at: 1 });
    const state = { version: 4, serial: 1, lineage: "l", outputs: {}, resources: [] };
    const as = { headers: stateHeaders(plane, job) };
    await ask(plane, "LOCK", `/api/state/${spec}`, { ...as, json: { ID: "lock" } });
    await ask(plane, "POST", `/api/state/${spec}?ID=lock`, { ...as, json: state });
    for (const place of [{ zone_id: owner.zone }, { spec_id: spec }, {}])
      await addRule(plane.context.store, owner, place);
    const params = { id: owner.zone };
    expect(await client.refusal("updateZone", { params, body: { team: slug } })).toBe(
      "409 zone_busy",
    );
    // A lost job that has the lock may still write the state.
    const lost = { status: "FAILED", ended_at: 2, released_at: 2, presumed_lost_at: 2 } as const;
    await setRows(plane, "jobs", { ...lost, zone_id: owner.zone }, { id: job.id });
    await expect(client.ask("updateZone", { params, body: { team: slug } })).rejects.toMatchObject({
      code: "zone_busy",
      message: expect.stringContaining('the state of "network" is locked by a job that was lost'),
    });
    await ask(plane, "UNLOCK", `/api/state/${spec}`, { ...as, json: { ID: "lock" } });
    const used = await usageOf(owner.id);
    expect(used).toBeGreaterThan(0);
    const moved = await client.call("updateZone", { params, body: { team: slug, name: "shared" } });
    expect([moved.name, moved.specs.map(({ id }) => id)]).toEqual(["shared", [spec]]);
    expect((await client.call("listZones")).zones).toEqual([]);
    expect((await calls.call("listJobs")).jobs.map(({ id }) => id)).toEqual([job.id]);
    const viewer = await addMember(plane, user, slug, "viewer");
    await viewer.client.call("getJob", { params: { id: job.id } });
    await viewer.client.call("getConfiguration", { params: { name: spec } });
    const { owner_id: team } = await readRow(plane, "zones", { id: owner.zone });
    expect([await usageOf(owner.id), await usageOf(team)]).toEqual([0, used]);
    expect((await readRow(plane, "archives", { owner_id: team })).sha256).toBe(source.sha256);
    // Of the rules, those of the whole space stay.
    const rules = await readRows(plane, "notification_rules");
    expect(rules).toMatchObject([{ owner_id: owner.id, zone_id: null, spec_id: null }]);
    for (const one of [client, calls]) {
      const { audit_entries } = await one.call("listAuditEntries", {
        query: { action: "zone.move" },
      });
      expect(audit_entries.map(({ details }) => details)).toEqual([
        { from: "personal space", to: slug },
      ]);
    }
    await client.call("updateZone", { params, body: { team: null } });
    expect([await usageOf(owner.id), await usageOf(team)]).toEqual([used, 0]);
    expect(await viewer.client.refusal("getZone", { params })).toBe("404 not_found");
  });

  it("keeps who cancelled its jobs, and who pushed and rolled back its states", async () => {
    const user = await addTestUser(plane);
    const { owner, client, headers } = user;
    const { slug, calls } = await addTeam(plane, user);
    const spec = await addSpec(plane.context.store, owner);
    const plan = { job_type: "PLAN", configuration_id: spec } as const;
    const job = await client.call("createJob", { body: plan });
    await client.call("cancelJob", { params: { id: job.id } });
    const resources = [{ mode: "managed", type: "t", name: "a", instances: [{}] }];
    const json = { version: 4, serial: 1, lineage: "l", outputs: {}, resources };
    await ask(plane, "POST", `/api/cli/configurations/${spec}/state/versions`, { headers, json });
    await client.call("rollBackState", { params: { name: spec, serial: "1" } });
    const by = `${owner.id}@example.com`;
    const move = (team: string | null) =>
      client.call("updateZone", { params: { id: owner.zone }, body: { team } });
    for (const [space, team] of [
      [calls, slug],
      [client, null],
    ] as const) {
      await move(team);
      expect((await space.call("getJob", { params: { id: job.id } })).cancelled_by).toBe(by);
      const params = { name: spec };
      const { state_versions } = await space.call("listStateVersions", { params, query: {} });
      expect(state_versions).toMatchObject([
        { serial: 2, stored_by: by, copy_of: 1 },
        { serial: 1, stored_by: by, copy_of: null },
      ]);
      expect((await space.call("getConfiguration", { params })).deployed).toMatchObject({ by });
    }
  });

  for (const query of ["", "?force=true"])
    it(`is not changed from its former space by a state${query} that arrives meanwhile`, async () => {
      const user = await addTestUser(plane);
      const [from, to] = [await addTeam(plane, user), await addTeam(plane, user)];
      const deployer = await addMember(plane, user, from.slug, "deployer");
      await join(plane, user, to.slug, deployer, "viewer");
      const zone = await from.calls.call("createZone", { body: { name: "z" } });
      const source = { type: "inline", files: { "main.tf": "" } } as const;
      const body = { name: "net", zone_id: zone.id, source };
      const { id } = await from.calls.call("createConfiguration", { body });
      const path = `/api/cli/configurations/${id}/state/versions`;
      const state = (serial: number) =>
        JSON.stringify({ version: 4, serial, lineage: "l", outputs: {}, resources: [] });
      await ask(plane, "POST", path, { headers: user.headers, body: state(1) });
      const [begun, moved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const pieces = (async function* () {
        yield Buffer.from(state(2).slice(0, 20));
        begun.resolve();
        await moved.promise;
        yield Buffer.from(state(2).slice(20));
      })();
      const pushing = ask(plane, "POST", path + query, { headers: deployer.headers, body: pieces });
      await begun.promise;
      // Answered after the head of the push, which was sent before.
      await from.calls.call("getZone", { params: { id: zone.id } });
      await from.calls.call("updateZone", { params: { id: zone.id }, body: { team: to.slug } });
      moved.resolve();
      expect((await pushing).json()).toMatchObject({ status: 404, code: "not_found" });
      const page = await to.calls.call("listStateVersions", { params: { name: id }, query: {} });
      expect(page.state_versions.map(({ serial }) => serial)).toEqual([1]);
    });

  it("takes along the jobs of its configurations, wherever they ran, and no others", async () => {
    const user = await addTestUser(plane);
    const { owner, client, worker } = user;
    const { store } = plane.context;
    const { slug, calls } = await addTeam(plane, user);
    const other = await client.call("createZone", { body: { name: "other" } });
    const [leaves, stays] = [await addSpec(store, owner), await addSpec(store, owner)];
    const ended = { status: "SUCCESS", ended_at: 1, released_at: 1 } as const;
    const jobOf = async (spec_id: string | null, zone_id: string, more: object = ended) =>
      (await addJob(store, owner, { spec_id, zone_id, ...more })).id;
    // "leaves" is moved to the other zone, in which "stays" was before.
    await client.call("updateConfiguration", {
      params: { name: leaves },
      body: { zone_id: other.id },
    });
    const before = await jobOf(leaves, owner.zone);
    const after = await jobOf(leaves, other.id);
    const ofOther = await jobOf(stays, other.id);
    const ofDeleted = await jobOf(null, other.id);
    const params = { id: other.id };
    const body = { team: slug };
    const queued = await jobOf(leaves, owner.zone, { status: "QUEUED" });
    expect(await client.refusal("updateZone", { params, body })).toBe("409 zone_busy");
    await setRows(plane, "jobs", { status: "CANCELLED", ended_at: 1 }, { id: queued });
    const held = await addHeldJob(plane, owner, worker, { spec_id: leaves, started_at: 1 });
    await setRows(plane, "jobs", { zone_id: owner.zone }, { id: held.id });
    expect(await client.refusal("updateZone", { params, body })).toBe("409 zone_busy");
    await setRows(plane, "jobs", ended, { id: held.id });
    await client.call("updateZone", { params, body });
    const there = (await calls.call("listJobs")).jobs.map(({ id }) => id);
    expect(there.toSorted()).toEqual([before, after, ofDeleted, queued, held.id].toSorted());
    expect((await client.call("listJobs")).jobs.map(({ id }) => id)).toEqual([ofOther]);
    expect((await readRow(plane, "jobs", { id: before })).zone_id).toBe(other.id);
    expect((await readRow(plane, "jobs", { id: ofOther })).zone_id).toBe(owner.zone);
  });

  it("moves only for an admin of both spaces", async () => {
    const user = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, user);
    const zone = await calls.call("createZone", { body: { name: "shared" } });
    const deployer = await addMember(plane, user, slug, "deployer");
    const params = { id: zone.id };
    expect(await deployer.client.refusal("updateZone", { params, body: { team: null } })).toBe(
      "403 permission_denied",
    );
    const own = { params: { id: deployer.owner.zone }, body: { team: slug } };
    expect(await deployer.client.refusal("updateZone", own)).toBe("403 permission_denied");
    const other = await addTestUser(plane);
    const its = { params: { id: other.owner.zone }, body: { team: slug } };
    expect(await other.client.refusal("updateZone", its)).toBe("404 team_not_found");
  });

  it("does not move with queued jobs, what it uses, or a name that is taken there", async () => {
    const user = await addTestUser(plane);
    const { owner, client } = user;
    const { store } = plane.context;
    const { slug, calls } = await addTeam(plane, user);
    const params = { id: owner.zone };
    const move = () => client.refusal("updateZone", { params, body: { team: slug } });
    const spec = await addSpec(store, owner);
    const job = await addJob(store, owner, { spec_id: spec, zone_id: owner.zone });
    const refused = client.ask("updateZone", { params, body: { team: slug } });
    await expect(refused).rejects.toMatchObject({
      code: "zone_busy",
      message: `the ${job.job_type} of "${spec}" (job ${job.id}) has not ended: wait for it or cancel it first`,
    });
    await setRows(plane, "jobs", { status: "CANCELLED", ended_at: 1 }, { id: job.id });
    const set = await client.call("createVariableSet", {
      body: { name: "network values", configuration_ids: [spec] },
    });
    const answer = await ask(plane, "PATCH", `/api/cli/zones/${owner.zone}`, {
      headers: user.headers,
      json: { team: slug },
    });
    expect(answer.json()).toMatchObject({
      code: "zone_in_use",
      detail: expect.stringMatching(/variable set "network values", .*: detach it first$/),
    });
    await client.ask("updateVariableSet", {
      params: { id: set.id },
      body: { configuration_ids: [] },
    });
    await client.call("deleteVariableSet", { params: { id: set.id } });
    const { name } = await client.call("getZone", { params });
    const taken = await calls.call("createZone", { body: { name } });
    expect(await move()).toBe("409 name_taken");
    await calls.call("deleteZone", { params: { id: taken.id } });
    await client.call("updateZone", { params, body: { team: slug } });
  });
});
