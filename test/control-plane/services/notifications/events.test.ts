/** What is recorded, in the transaction of what happens, and that it is recorded once. */
import { describe, expect } from "vitest";
import { ask as askHost } from "../../../../control-plane/services/connections/hosts.ts";
import {
  watchTokens,
  watchWaiting,
} from "../../../../control-plane/services/notifications/watch.ts";
import { watchOnce } from "../../../../control-plane/services/workers/watch.ts";
import { addLock } from "../../../../control-plane/store/states/states.ts";
import { day, minute } from "../../../../common/units.ts";
import { approvalSteps } from "../../../helpers/people/approvals.ts";
import { addHeldJob, readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addJob, addOwner, addRule, type Owner } from "../../../helpers/plane/rows.ts";

const { plane, it: base } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });
const it = base.extend("steps", ({ client, runner, spec }) =>
  approvalSteps(plane, client, runner, spec),
);
const { signal } = new AbortController();

const seen = new Map<string, number>();
/** The events of a space, without the entries of the audit log, since the last call. */
const told = async ({ id }: Owner): Promise<string[]> => {
  const rows = await readRows(plane, "events", { owner_id: id });
  const known = seen.get(id) ?? 0;
  seen.set(id, rows.length);
  return rows.slice(known).flatMap(({ type }) => (type.startsWith("audit.") ? [] : [type]));
};

describe("the events", () => {
  it("of a plan and its deployment are recorded once, also when a report is repeated", async ({
    owner,
    spec,
    client,
    runner,
    steps,
  }) => {
    await addRule(plane.context.store, owner, {});
    const plan = await steps.plan({ delete: 1 });
    expect(await told(owner)).toEqual([
      "job.queued",
      "job.started",
      "job.succeeded",
      "plan.destructive",
    ]);
    const deploy = await steps.deploy(plan);
    const { job } = await runner.call("claimJob");
    for (const status of ["PROCESSING", "PROCESSING", "SUCCESS", "SUCCESS"] as const)
      await runner.call("reportStatus", { params: job, body: { status } });
    expect(await told(owner)).toEqual(["job.queued", "job.started", "job.succeeded", "deployed"]);
    const [event] = await readRows(plane, "events", { type: "deployed", job_id: deploy.id });
    expect(JSON.parse(event?.job ?? "")).toEqual({
      job_type: "DEPLOY",
      status: "SUCCESS",
      created_by: expect.any(String),
    });
    const body = { job_type: "DESTROY", configuration_id: spec } as const;
    await client.call("createJob", { body });
    const claimed = await runner.call("claimJob");
    await runner.call("reportStatus", { params: claimed.job, body: { status: "PROCESSING" } });
    await runner.call("reportStatus", { params: claimed.job, body: { status: "SUCCESS" } });
    expect(await told(owner)).toContain("destroyed");
  });

  it("of approvals say how many are missing", async ({ owner, steps }) => {
    await addRule(plane.context.store, owner, { events: '["approval.*"]' });
    await steps.rule({ when: "always", count: 2, by_author: true });
    const deploy = await steps.deploy(await steps.plan());
    await steps.approve(deploy, "looks good");
    await steps.reject(deploy);
    const rows = await readRows(plane, "events", { owner_id: owner.id });
    expect(rows.map(({ type, data }) => [type, JSON.parse(data)])).toEqual([
      ["approval.needed", { missing: 2 }],
      ["approval.given", { missing: 1, comment: "looks good" }],
      ["approval.refused", { missing: 2 }],
    ]);
    expect(JSON.parse(rows[1]?.actor ?? "")).toMatchObject({ kind: "user" });
  });

  it("of a lost runner tell that the outcome is unknown, and what it reports later", async ({
    owner,
    worker,
    spec,
    runner,
  }) => {
    await addRule(plane.context.store, owner, { events: '["job.*","worker.*"]' });
    const job = await addHeldJob(plane, owner, worker, { spec_id: spec, started_at: 1 });
    await setRows(
      plane,
      "workers",
      { last_heartbeat_at: 1, offline_at: null, last_call_at: null },
      { id: worker.id },
    );
    await watchOnce(plane.context, 0);
    expect(await told(owner)).toEqual(["worker.offline"]);
    await setRows(plane, "workers", { offline_at: 1, last_call_at: 1 }, { id: worker.id });
    await watchOnce(plane.context, 0);
    expect(await told(owner)).toEqual(["job.failed", "job.outcome_unknown"]);
    const beat = () => runner.call("heartbeat", { body: { version: "0.2.0", active_job_ids: [] } });
    await Promise.all([beat(), beat()]);
    expect(await told(owner)).toEqual(["worker.online"]);
    await runner.call("reportStatus", { params: job, body: { status: "SUCCESS" } });
    expect(await told(owner)).toEqual(["job.succeeded"]);
  });

  it("of a space in which much waits delay those of no other", async ({ owner }) => {
    const { store } = plane.context;
    const other = await addOwner(store);
    for (const one of [owner, other]) await addRule(store, one, { events: '["queue.stalled"]' });
    for (let n = 0; n < 25; n += 1) await addJob(store, owner);
    await addJob(store, other);
    const counts = async () => {
      await watchWaiting(plane.context, signal);
      return Promise.all(
        [owner, other].map(
          async ({ id }) => (await readRows(plane, "events", { owner_id: id })).length,
        ),
      );
    };
    expect(await counts()).toEqual([20, 1]);
    expect(await counts()).toEqual([25, 1]);
  });

  it("of what has lasted too long, or ends soon, are recorded once for each rule or threshold", async ({
    owner,
    client,
    spec,
  }) => {
    const { store, now } = plane.context;
    const rule = await addRule(store, owner, { stalled_minutes: 20 });
    await addRule(store, owner, { events: '["job.*"]' });
    const queued = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec },
    });
    const token = await client.call("createAccessToken", { body: { name: "ci", role: "viewer" } });
    const watch = async () => {
      await watchWaiting(plane.context, signal);
      await watchTokens(plane.context);
      const rows = await readRows(plane, "events", { owner_id: owner.id });
      return rows.filter(({ once }) => once !== null);
    };
    expect(await watch()).toEqual([]);
    await setRows(plane, "jobs", { created_at: now() - 21 * minute }, { id: queued.id });
    const [stalled, ...more] = await watch();
    expect(more).toEqual([]);
    expect(stalled).toMatchObject({ type: "queue.stalled", rule_id: rule, job_id: queued.id });
    expect(JSON.parse(stalled?.data ?? "")).toEqual({ minutes: 21, reason: expect.any(String) });
    await setRows(
      plane,
      "access_tokens",
      { created_at: now() - 30 * day, expires_at: now() + 6 * day },
      { id: token.id },
    );
    expect((await watch()).map(({ once }) => once)).toEqual([stalled?.once, `token ${token.id} 7`]);
    await setRows(plane, "access_tokens", { expires_at: now() + day / 2 }, { id: token.id });
    expect(await watch()).toHaveLength(3);
    const lost = await addHeldJob(plane, owner, { id: "w" } as never, {
      status: "FAILED",
      ended_at: 2,
      released_at: 2,
    });
    const lock = {
      spec_id: spec,
      lock_id: `l-${spec}`,
      job_id: lost.id,
      info: "{}",
      created_at: 1,
    };
    await store.write((tx) => addLock(tx, lock));
    for (const _ of [1, 2])
      expect((await watch()).map(({ type }) => type)).toEqual([
        "queue.stalled",
        "token.expires",
        "token.expires",
        "state.locked_without_job",
      ]);
  });

  it("of a connection tell when it breaks and when it works again", async ({ owner, client }) => {
    await addRule(plane.context.store, owner, { events: '["connection.*"]' });
    const { id } = await client.call("createConnection", {
      body: { name: "git", kind: "forgejo", base_url: "http://127.0.0.1:1", credential: "t" },
    });
    const row = () => readRow(plane, "connections", { id });
    for (const _ of [1, 2])
      await expect(askHost(plane.context, await row(), ({ host }) => host.check())).rejects.toThrow(
        "127.0.0.1:1",
      );
    await askHost(plane.context, await row(), async () => undefined);
    const rows = await readRows(plane, "events", { owner_id: owner.id });
    expect(rows.map(({ type }) => type)).toEqual(["connection.broken", "connection.mended"]);
    expect(JSON.parse(rows[0]?.data ?? "")).toMatchObject({
      connection: { id, name: "git" },
      reason: expect.any(String),
    });
  });

  it("of the audit log name the action and its target", async ({ owner, client }) => {
    await addRule(plane.context.store, owner, { events: '["audit.zone.*"]' });
    const { id } = await client.call("createZone", { body: { name: "west" } });
    await client.call("createVariableSet", { body: { name: "s" } });
    const [event, ...more] = await readRows(plane, "events", { owner_id: owner.id });
    expect(more).toEqual([]);
    expect(event).toMatchObject({ type: "audit.zone.create", zone_id: id, zone_name: "west" });
    expect(JSON.parse(event?.data ?? "")).toEqual({
      action: "zone.create",
      target: { kind: "zone", id, name: "west" },
    });
  });
});
