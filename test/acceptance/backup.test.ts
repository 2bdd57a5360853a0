/** Makes backups of a running server under load, restores them, and checks the result. */
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeBackup } from "../../control-plane/backup/backup.ts";
import { restoreBackup } from "../../control-plane/backup/restore.ts";
import { readConfig, type ServerConfig } from "../../control-plane/config.ts";
import { startServer } from "../../control-plane/server.ts";
import { retainOnce } from "../../control-plane/services/storage/retention.ts";
import { isBackupRunning } from "../../control-plane/store/facts.ts";
import { snapshotDatabase } from "../../control-plane/store/storage/snapshot.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  type Plane,
  readJob,
  startPlane,
  stateHeaders,
  type TestWorker,
  readRows,
} from "../helpers/plane/plane.ts";
import { addJob, addOwner, addSpec, type Owner } from "../helpers/plane/rows.ts";
import { bearer, signIn } from "../helpers/people/sign-in.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { folderForEachTest } from "../helpers/machine/folders.ts";

let plane: Plane;
let scratch: string;
let file: string;
folderForEachTest((path) => {
  scratch = path;
  file = join(path, "backup.tar.gz");
});
beforeEach(async () => {
  plane = await startPlane();
});
afterEach(() => plane.close());

const configOf = (directory: string, settings: Record<string, string> = {}): ServerConfig =>
  readConfig({ ...settings, WINDLASS_DATA_DIR: directory, WINDLASS_PORT: "0" });
const command = (words: string[], directory: string, env: Record<string, string> = {}) =>
  windlass(["server", ...words], { env: { WINDLASS_DATA_DIR: directory, ...env } });

/** Starts a server on a restored directory. */
async function startOn(directory: string): Promise<Plane> {
  const { url, context, close } = await startServer(configOf(directory), pino({ level: "silent" }));
  return { ...plane, url, directory, context, close };
}

/** Adds a running job that logs, writes state and uploads a plan. */
async function busyJob(
  on: Plane,
  owner: Owner,
  worker: TestWorker,
  job_type: "PLAN" | "DEPLOY" = "DEPLOY",
) {
  const spec = await addSpec(on.context.store, owner);
  const job = await addHeldJob(on, owner, worker, { spec_id: spec, job_type });
  const headers = stateHeaders(on, await readJob(on, job));
  const lock = randomUUID();
  await ask(on, "LOCK", `/api/state/${spec}`, { headers, json: { ID: lock } });
  let serial = 0;
  return {
    spec,
    job,
    log: async (line: string) => {
      const body = { log_chunk: line, stream_type: "STDOUT" as const };
      await callsOf(on, worker.headers).call("appendLogs", { params: { id: job.id }, body });
    },
    state: async () => {
      serial += 1;
      const body = JSON.stringify({
        version: 4,
        serial,
        lineage: lock,
        resources: [],
        outputs: { x: { value: randomBytes(20_000).toString("hex"), type: "string" } },
      });
      const answer = await ask(on, "POST", `/api/state/${spec}?ID=${lock}`, { headers, body });
      if (answer.status !== 200) throw new Error(`the state was answered ${answer.status}`);
      return body;
    },
    plan: async (content: Buffer) => {
      const answer = await ask(on, "POST", `/api/jobs/${job.id}/plan-artifact`, {
        headers: { ...worker.headers, "content-type": "application/octet-stream" },
        body: content,
      });
      expect(answer.status).toBe(201);
    },
    succeed: () =>
      callsOf(on, worker.headers).call("reportStatus", {
        params: { id: job.id },
        body: { status: "SUCCESS" },
      }),
  };
}

describe("a backup of a running server", () => {
  test("contains everything that was acknowledged before it began, byte for byte", async () => {
    const owner = await addOwner(plane.context.store);
    const worker = await addTestWorker(plane, owner);
    const plan = randomBytes(300_000);
    const done = await busyJob(plane, owner, worker);
    await done.plan(plan);
    for (let line = 1; line <= 50; line += 1) await done.log(`line ${line}\n`);
    const states = [await done.state(), await done.state(), await done.state()];
    await done.succeed();
    const { sha256 } = (
      await ask(plane, "POST", "/api/cli/archives", {
        headers: await clientHeaders(plane, owner),
        body: gzipSync("archive"),
      })
    ).json();

    // Several runners keep writing until the backup is done.
    let isLoading = true;
    let writes = 0;
    const load = Array.from({ length: 4 }, async () => {
      const busy = await busyJob(plane, owner, worker);
      while (isLoading) {
        await busy.log("more\n");
        await busy.state();
        writes += 1;
      }
    });
    while (writes < 8) await new Promise((resolve) => setTimeout(resolve, 5));
    const before = writes;
    const made = await command(["backup", file], plane.directory);
    const during = writes - before;
    isLoading = false;
    await Promise.all(load);
    expect({ exitCode: made.exitCode, stderr: made.stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringMatching(/The file contains the server's secrets .*WINDLASS_SECRET_KEY/),
    });
    expect(during).toBeGreaterThan(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(scratch)).toEqual(["backup.tar.gz"]);

    const fresh = join(scratch, "fresh");
    const restored = await command(["restore", file], fresh);
    expect(restored.exitCode).toBe(0);
    const again = await startOn(fresh);
    const client = await clientHeaders(again, owner);
    const { logs } = await callsOf(again, client).call("getJobLogs", {
      params: { id: done.job.id },
    });
    expect(logs.map(({ log_chunk }) => log_chunk)).toEqual(
      Array.from({ length: 50 }, (_, n) => `line ${n + 1}\n`),
    );
    const artifact = await ask(again, "GET", `/api/jobs/${done.job.id}/plan-artifact`, {
      headers: worker.headers,
    });
    expect(artifact.body.equals(plan)).toBe(true);
    for (const [index, state] of states.entries()) {
      const path = `/api/cli/configurations/${done.spec}/state/versions/${index + 1}`;
      expect((await ask(again, "GET", path, { headers: client })).text).toBe(state);
    }
    const archives = again.context.store.read.sql.selectFrom("archives").select("sha256");
    expect(await archives.execute()).toEqual([{ sha256 }]);
    // Every version of every state is complete.
    for (const { blob } of await readRows(again, "state_versions"))
      for await (const _ of await again.context.blobs.read(blob));
    expect((await readJob(again, done.job)).status).toBe("SUCCESS");
    await again.close();
  });

  test("names no file that retention or a user removes while the backup is made", async () => {
    const owner = await addOwner(plane.context.store);
    const worker = await addTestWorker(plane, owner);
    const client = await clientHeaders(plane, owner);
    for (let n = 0; n < 30; n += 1) {
      const { plan, state, succeed } = await busyJob(plane, owner, worker);
      await plan(randomBytes(50_000));
      await state();
      await succeed();
    }
    // All rows are old, so their files would be deleted next. The clock is not moved, because the
    // backup takes its time limit from it.
    const retention = { ...plane.context.retention, logs: 0, artifacts: 0, states: 0 };
    const later = { ...plane.context, retention };
    const configurations = await readRows(plane, "specs");
    const making = makeBackup(configOf(plane.directory), file, true);
    await retainOnce(later);
    await retainOnce(later);
    for (const { id } of configurations)
      await ask(plane, "DELETE", `/api/cli/configurations/${id}`, { headers: client });
    await making;
    expect(
      await plane.context.store.read.sql.selectFrom("plan_artifacts").select("blob").execute(),
    ).toEqual([]);
    const fresh = join(scratch, "fresh");
    await restoreBackup(configOf(fresh), file, false);
    expect(
      (await readdir(join(fresh, "blobs"), { recursive: true })).filter((name) =>
        name.includes("/"),
      ).length,
    ).toBe(60);
    // Deletion proceeds once the backup is made.
    await retainOnce(later);
    expect(
      await plane.context.store.read.sql
        .selectFrom("facts")
        .select("name")
        .where("name", "like", "backup:%")
        .execute(),
    ).toEqual([]);
  });

  test("postpones the deletion of files until the copy is made", async () => {
    const { read } = plane.context.store;
    const isRunning = () => isBackupRunning(read, Date.now());
    const pin = snapshotDatabase(join(plane.directory, "windlass.db"), join(scratch, "copy.db"));
    // Readers see another process's writes a moment later.
    await expect.poll(isRunning).toBe(true);
    pin.release();
    await expect.poll(isRunning).toBe(false);
  });

  test("overwrites no existing file", async () => {
    await writeFile(file, "precious");
    const { exitCode, stderr } = await command(["backup", file], plane.directory);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("already exists")]);
    expect(await readFile(file, "utf8")).toBe("precious");
  });

  test("names the directory to which nothing can be written", async () => {
    const refusals = {
      [join(scratch, "missing")]: "does not exist; make it first",
      [join(plane.directory, "windlass.db")]: "(ENOTDIR)",
    };
    for (const [directory, why] of Object.entries(refusals)) {
      const made = await command(["backup", join(directory, "a.tar.gz")], plane.directory);
      expect(made).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(why) });
      expect(made.stderr).toContain(directory);
    }
  });

  test.each([
    [["backup", "a", "b"], 2],
    [["restore", "--forced", "a"], 2],
    [["restore", "not-there.tar.gz"], 1],
  ] as const)("%j exits with code %i", async (words, code) => {
    const { exitCode, stderr } = await command([...words], join(scratch, "none"));
    expect(exitCode).toBe(code);
    expect(stderr).not.toBe("");
    expect(existsSync(join(scratch, "none"))).toBe(false);
  });

  test("without a data store exits with code 78", async () => {
    expect((await command(["backup", file], join(scratch, "typo"))).exitCode).toBe(78);
  });
});

describe("the secrets in a backup", () => {
  test("are left out with --without-secrets, and then a restore needs the right key", async () => {
    const owner = await addOwner(plane.context.store);
    const { plan } = await busyJob(plane, owner, await addTestWorker(plane, owner));
    await plan(randomBytes(1000));
    const made = await command(["backup", "--without-secrets", file], plane.directory);
    expect(made.stderr).toContain("does not contain WINDLASS_SECRET_KEY");
    const key = await readFile(join(plane.directory, "secrets", "WINDLASS_SECRET_KEY"), "utf8");
    const fresh = join(scratch, "fresh");
    const without = await command(["restore", file], fresh);
    expect(without).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining("WINDLASS_SECRET_KEY"),
    });
    const wrong = await command(["restore", file], fresh, {
      WINDLASS_SECRET_KEY: "x".repeat(40),
    });
    expect(wrong).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining("is not the key"),
    });
    expect(existsSync(fresh)).toBe(false);
    expect((await command(["restore", file], fresh, { WINDLASS_SECRET_KEY: key })).exitCode).toBe(
      0,
    );
    expect(existsSync(join(fresh, "secrets"))).toBe(false);
  });

  test("never include a secret that comes from the environment", async () => {
    const key = "k".repeat(40);
    const { secrets } = await makeBackup(
      configOf(plane.directory, { WINDLASS_SECRET_KEY: key }),
      file,
      true,
    );
    expect(secrets).toEqual(["CLI_JWT_SECRET"]);
  });
});

describe("a restore", () => {
  const backup = () => makeBackup(configOf(plane.directory), file, true);

  test("never gives a job out twice: jobs that were not over get an unknown outcome", async () => {
    const { store } = plane.context;
    const owner = await addOwner(store);
    const worker = await addTestWorker(plane, owner);
    const at = async (change: Parameters<typeof addJob>[2]) =>
      addJob(store, owner, { spec_id: await addSpec(store, owner), ...change });
    const held = { worker_id: worker.id, attempt: 1, claimed_at: Date.now() };
    const queued = await at({ job_type: "DEPLOY" });
    const claimed = await at({ ...held, job_type: "DEPLOY", status: "PROCESSING" });
    const running = await at({
      ...held,
      job_type: "DEPLOY",
      status: "PROCESSING",
      started_at: Date.now(),
    });
    const planning = await at({ ...held, status: "PROCESSING", started_at: Date.now() });
    const cancelled = await at({
      ...held,
      job_type: "DESTROY",
      status: "CANCELLED",
      started_at: 1,
      cancelled_at: 1,
      ended_at: 1,
    });
    const over = await at({
      ...held,
      status: "SUCCESS",
      started_at: 1,
      ended_at: 1,
      released_at: 1,
    });
    const { access_token, refresh_token } = await signIn(plane);
    const user = callsOf(plane, bearer(access_token));
    const pipeline = await user.call("createAccessToken", {
      body: { name: "ci", role: "viewer" },
    });
    const { registration_token } = await user.call("createRegistrationToken", {
      body: {},
    });
    const { created_at } = await backup();
    const fresh = join(scratch, "fresh");
    await restoreBackup(configOf(fresh), file, false);
    const again = await startOn(fresh);

    const unknown = expect.stringContaining(
      `outcome unknown: the server was restored from a backup of ${created_at}`,
    );
    for (const job of [queued, claimed, running, planning])
      expect(await readJob(again, job)).toMatchObject({
        status: "FAILED",
        error_message: unknown,
        released_at: expect.any(Number),
      });
    expect(await readJob(again, cancelled)).toMatchObject({
      status: "CANCELLED",
      released_at: expect.any(Number),
    });
    // The audit log says how the jobs ended.
    const entries = await readRows(again, "audit_entries", { actor_kind: "system" });
    const targets = (action: string) =>
      entries.filter((entry) => entry.action === action).map(({ target_id }) => target_id);
    const ended = [queued, claimed, running, planning, cancelled];
    expect(targets("job.lose")).toHaveLength(ended.length);
    expect(new Set(targets("job.lose"))).toEqual(new Set(ended.map(({ id }) => id)));
    expect(targets("login.revoke").length).toBeGreaterThan(0);
    expect(entries.filter(({ owner_id }) => owner_id === null)).toEqual([]);
    // The log of this job is so old that it is pruned at once.
    const { log_pruned_at: _, ...kept } = over;
    expect(await readJob(again, over)).toMatchObject(kept);
    const runner = callsOf(again, worker.headers);
    expect(await runner.ask("claimJob")).toBeNull();
    // A runner may still be changing these configurations, so their states stay locked until a
    // report or a user unlocks them.
    const locks = await readRows(again, "state_locks");
    expect(new Set(locks.map(({ job_id }) => job_id))).toEqual(
      new Set([claimed.id, running.id, cancelled.id]),
    );
    const client = callsOf(again, await clientHeaders(again, owner));
    const retried = await client.call("retryJob", { params: { id: running.id } });
    expect(retried.waiting_reason).toBe("state_locked");
    expect(await runner.ask("claimJob")).toBeNull();
    const params = { id: running.id };
    await runner.call("reportStatus", { params, body: { status: "SUCCESS" } });
    expect((await readJob(again, running)).status).toBe("SUCCESS");
    expect((await runner.call("claimJob")).job.id).toBe(retried.id);

    // Credentials that may have been revoked after the backup stop working.
    expect(await callsOf(again, {}).refusal("refreshTokens", { body: { refresh_token } })).toBe(
      "401 invalid_refresh_token",
    );
    expect(await callsOf(again, bearer(access_token)).refusal("listZones")).toMatch(/^401/);
    expect(await callsOf(again, bearer(pipeline.access_token)).refusal("listZones")).toBe(
      "401 unauthenticated",
    );
    const registering = { body: { name: "again" } };
    const headers = { "x-registration-token": registration_token };
    expect(await callsOf(again, headers).refusal("registerWorker", registering)).toMatch(/^401/);
    await again.close();
    // A second start settles nothing again.
    const later = await startOn(fresh);
    expect((await readJob(later, retried as never)).status).toBe("PROCESSING");
    await later.close();
  });

  test("makes earlier plans stale", async () => {
    const owner = await addOwner(plane.context.store);
    const { plan, succeed, job, spec } = await busyJob(
      plane,
      owner,
      await addTestWorker(plane, owner),
      "PLAN",
    );
    await plan(randomBytes(1000));
    await succeed();
    await backup();
    const fresh = join(scratch, "fresh");
    await restoreBackup(configOf(fresh), file, false);
    const again = await startOn(fresh);
    const body = { job_type: "DEPLOY" as const, configuration_id: spec, plan_job_id: job.id };
    const client = callsOf(again, await clientHeaders(again, owner));
    await expect(client.ask("createJob", { body })).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining("restored"),
    });
    await again.close();
  });

  test("refuses a directory in use, and with --force keeps the old data aside", async () => {
    await backup();
    const before = await readdir(plane.directory);
    for (const words of [["restore"], ["restore", "--force"]]) {
      const running = await command([...words, file], plane.directory);
      expect(running).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("stop it") });
    }
    expect(await readdir(plane.directory)).toEqual(before);

    const fresh = join(scratch, "fresh");
    await restoreBackup(configOf(fresh), file, false);
    const again = await command(["restore", file], fresh);
    expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("is not empty") });
    const old = await startOn(fresh);
    const owner = await addOwner(old.context.store);
    await old.close();
    // A runner of the same checkout may be in the middle of an apply there.
    const runner = join(fresh, "agent", "identity.json");
    await mkdir(dirname(runner));
    await writeFile(runner, "identity");
    const forced = await command(["restore", "--force", file], fresh);
    expect(forced).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("before-restore-"),
    });
    expect(await readFile(runner, "utf8")).toBe("identity");
    const aside = (await readdir(fresh)).find((name) => name.startsWith("before-restore-")) ?? "";
    const kept = await startOn(join(fresh, aside));
    const users = kept.context.store.read.sql.selectFrom("users").select("id");
    expect(await users.execute()).toContainEqual({ id: owner.id });
    await kept.close();
  });

  test("refuses a directory that windlass up deployed, and keeps its id beside a server's data", async () => {
    await backup();
    const deployed = join(scratch, "terraform", ".windlass");
    await mkdir(deployed, { recursive: true });
    await writeFile(join(deployed, "link.json"), "{}");
    for (const words of [["restore"], ["restore", "--force"]])
      expect(await command([...words, file], deployed)).toMatchObject({
        exitCode: 78,
        stderr: expect.stringContaining("set WINDLASS_DATA_DIR"),
      });
    expect(await readdir(deployed)).toEqual(["link.json"]);

    await writeFile(join(deployed, "windlass.db"), "");
    expect((await command(["restore", "--force", file], deployed)).exitCode).toBe(0);
    expect(await readdir(deployed)).toContain("link.json");
  });

  test("that was interrupted leaves a directory with which no server starts", async () => {
    await backup();
    const fresh = join(scratch, "fresh");
    await restoreBackup(configOf(fresh), file, false);
    await writeFile(join(fresh, "RESTORE-UNDER-WAY"), "");
    await rm(join(fresh, "windlass.db"));
    const started = await command([], fresh);
    expect(started).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining('run "windlass server restore --force FILE" again'),
    });
    expect((await command(["restore", "--force", file], fresh)).exitCode).toBe(0);
    await (await startOn(fresh)).close();
  });

  test("refuses settings that place the blobs elsewhere", async () => {
    await backup();
    const elsewhere = { WINDLASS_ARTIFACTS_URL: `file:${scratch}/blobs` };
    expect((await command(["restore", file], join(scratch, "fresh"), elsewhere)).exitCode).toBe(78);
    expect(await readdir(scratch)).toEqual(["backup.tar.gz"]);
  });
});
