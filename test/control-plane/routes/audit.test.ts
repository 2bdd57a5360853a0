/** Lists of audit entries, and that an entry and the change it records are stored together. */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { createZone } from "../../../control-plane/services/zones/zones.ts";
import { cancelJob } from "../../../control-plane/services/jobs/jobs.ts";
import { callsOf, type Calls } from "../../helpers/plane/calls.ts";
import { addTestUser } from "../../helpers/people/user.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addHeldJob, ask, readJob } from "../../helpers/plane/plane.ts";
import { command } from "../../helpers/store/postgres.ts";
import { addJob } from "../../helpers/plane/rows.ts";
import { callerOf } from "../../helpers/people/caller.ts";

const { plane } = planeForFile();
const { plane: impatient } = planeForFile({
  WINDLASS_OFFLINE_SECONDS: "0.1",
  WINDLASS_LOST_SECONDS: "0.1",
});

/** A user who has created zones with these names, in this order. */
async function person(...names: string[]) {
  const user = await addTestUser(plane);
  for (const name of names) await user.client.call("createZone", { body: { name } });
  return user;
}

const namesOf = async (client: Calls, query: object = {}): Promise<(string | null)[]> =>
  (await client.call("listAuditEntries", { query })).audit_entries.map(({ target }) => target.name);

describe("a list of audit entries", () => {
  it("says who did what to what, when and from where, newest first", async () => {
    const { client, headers } = await person("a", "b");
    expect(await namesOf(client)).toEqual(["b", "a"]);
    const more = { ...headers, "user-agent": "x".repeat(5000), "x-request-id": "mine" };
    const started = Date.now();
    const zone = await callsOf(plane, more).call("createZone", { body: { name: "c" } });
    const [entry] = (await client.call("listAuditEntries", { query: { limit: 1 } })).audit_entries;
    expect(entry).toMatchObject({
      action: "zone.create",
      actor: { kind: "cli_login" },
      target: { kind: "zone", id: zone.id, name: "c" },
      details: {},
      ip_address: "127.0.0.1",
      user_agent: "x".repeat(256),
      request_id: "mine",
    });
    expect(Date.parse(entry?.created_at ?? "")).toBeGreaterThanOrEqual(started);
  });

  it("ignores X-Forwarded-For from an untrusted client", async () => {
    const { client, headers } = await person();
    const claimed = { ...headers, "x-forwarded-for": "203.0.113.9" };
    await callsOf(plane, claimed).call("createZone", { body: { name: "a" } });
    const { audit_entries } = await client.call("listAuditEntries");
    expect(audit_entries.map(({ ip_address }) => ip_address)).toEqual(["127.0.0.1"]);
  });

  it("contains only the owner's entries", async () => {
    const { client } = await person("a");
    const other = await person("theirs");
    expect(await namesOf(other.client)).toEqual(["theirs"]);
    const target_id = (await client.call("listAuditEntries")).audit_entries[0]?.target.id;
    expect(await namesOf(other.client, { target_id })).toEqual([]);
  });

  it("names the configuration of a job, as it was called then", async () => {
    const { client, owner } = await person();
    const source = { type: "inline", files: { "main.tf": "" } } as const;
    const { id } = await client.call("createConfiguration", {
      body: { name: "network", zone_id: owner.zone, source },
    });
    await client.call("createJob", { body: { job_type: "PLAN", configuration_id: id } });
    const params = { name: id };
    await client.call("updateConfiguration", { params, body: { name: "renamed" } });
    const { audit_entries } = await client.call("listAuditEntries", { query: { limit: 3 } });
    expect(audit_entries.map(({ action, configuration }) => [action, configuration])).toEqual([
      ["configuration.update", undefined],
      ["job.create", { id, name: "network" }],
      ["configuration.create", undefined],
    ]);
  });

  it("has no gap and no duplicate in its pages while entries are added", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const { client } = await person(...names);
    const seen: (string | null)[] = [];
    let cursor: string | null = null;
    do {
      const query = { limit: 2, ...(cursor === null ? {} : { cursor }) };
      const page: {
        audit_entries: { target: { name: string | null } }[];
        next_cursor: string | null;
      } = await client.call("listAuditEntries", { query });
      seen.push(...page.audit_entries.map(({ target }) => target.name));
      cursor = page.next_cursor;
      await client.call("createZone", { body: { name: `later ${seen.length}` } });
    } while (cursor !== null);
    expect(seen).toEqual(names.toReversed());
  });

  it("is filtered by action, target and time, and refuses malformed filters", async () => {
    const { client, headers } = await person("a");
    await sleep(5);
    const since = new Date().toISOString();
    const zone = await client.call("createZone", { body: { name: "b" } });
    await client.call("deleteZone", { params: { id: zone.id } });
    expect(await namesOf(client, { since })).toEqual(["b", "b"]);
    expect(await namesOf(client, { until: since })).toEqual(["a"]);
    expect(await namesOf(client, { action: "zone.create" })).toEqual(["b", "a"]);
    expect(await namesOf(client, { target_id: zone.id, action: "zone.delete" })).toEqual(["b"]);
    for (const query of [
      "since=now",
      "until=2016-12-31T23:59:60Z",
      "action=zone.eat",
      "cursor=x",
      "limit=0",
      "limit=1001",
    ])
      expect([
        query,
        (await ask(plane, "GET", `/api/cli/audit?${query}`, { headers })).status,
      ]).toEqual([query, 400]);
  });
});

describe("an audit entry", () => {
  it("is stored together with its change, or neither is", async () => {
    const { owner, client } = await person("a");
    const job = await addJob(plane.context.store, owner);
    const { store } = plane.context;
    const { ownerUrl } = plane;
    const change = (text: string) =>
      ownerUrl === undefined
        ? store.write((tx) => sql.raw(text).execute(tx.sql))
        : command(ownerUrl, text);
    await change(
      ownerUrl === undefined
        ? `create trigger "full" before insert on audit_entries begin select raise(abort, 'full'); end`
        : `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'full'; end $$;
          create trigger "full" before insert on audit_entries for each row execute function refuse()`,
    );
    const caller = callerOf(owner);
    try {
      await expect(createZone(plane.context, caller, { name: "b" })).rejects.toThrow("full");
      await expect(cancelJob(plane.context, caller, job.id)).rejects.toThrow("full");
    } finally {
      await change(`drop trigger "full"${ownerUrl === undefined ? "" : " on audit_entries"}`);
    }
    expect((await readJob(plane, job)).status).toBe("QUEUED");
    const { zones } = await client.call("listZones");
    expect(zones.map(({ name }) => name)).toEqual(["a", "zone"]);
    expect(await client.refusal("createZone", { body: { name: "a" } })).toBe("409 name_taken");
    expect(await namesOf(client)).toEqual(["a"]);
  });

  it("names the control plane as the actor of a timed decision", async () => {
    const { owner, worker, client } = await addTestUser(impatient);
    const job = await addHeldJob(impatient, owner, worker, { started_at: 1 });

    const deadline = Date.now() + 20_000;
    while ((await readJob(impatient, job)).status !== "FAILED" && Date.now() < deadline)
      await sleep(20);
    const { audit_entries } = await client.call("listAuditEntries");
    expect(audit_entries).toMatchObject([
      {
        action: "job.lose",
        actor: { kind: "system", id: null },
        target: { kind: "job", id: job.id, name: "PLAN" },
        details: { status: "FAILED", status_before: "PROCESSING", worker_id: worker.id },
        ip_address: null,
        request_id: null,
      },
    ]);
  });
});
