/**
 * `backup` and `restore` are killed before each of their changes of files: a backup is whole or
 * absent; data is the old, or no server starts, and the same command completes it.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { beforeAll, expect, test } from "vitest";
import { makeBackup } from "../../control-plane/backup/backup.ts";
import { restoreBackup } from "../../control-plane/backup/restore.ts";
import { readConfig, type ServerConfig } from "../../control-plane/config.ts";
import { restoreMark } from "../../control-plane/data-directory/restore-mark.ts";
import { startServer } from "../../control-plane/server.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { addHeldJob, addTestWorker, ask, startPlane } from "../helpers/plane/plane.ts";
import { addOwner } from "../helpers/plane/rows.ts";
import { proving } from "../helpers/project/proving.ts";

const scratch = folderForFile();
const [backup, killer] = [join(scratch, "backup.tar.gz"), join(scratch, "killer.mjs")];
const configOf = (directory: string): ServerConfig =>
  readConfig({ WINDLASS_DATA_DIR: directory, WINDLASS_PORT: "0" });

/** Kills the process before the change number KILL_AT, and writes the changes to KILL_LOG. */
const killing = `
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
const { KILL_AT, KILL_LOG } = process.env;
let count = 0;
const before = (name) => {
  count += 1;
  if (count === Number(KILL_AT)) process.kill(process.pid, "SIGKILL");
  if (KILL_LOG) fs.appendFileSync(KILL_LOG, name + "\\n");
};
for (const [of, names] of [[promises, ["link", "mkdir", "rename", "rm", "writeFile"]], [fs, ["createWriteStream"]]])
  for (const name of names) {
    const real = of[name];
    of[name] = (...args) => {
      before(name);
      return real(...args);
    };
  }
syncBuiltinESMExports();
`;

/** Returns the users of the data and the names of its files; undefined if no server starts on it. */
async function contentOf(directory: string) {
  const config = configOf(directory);
  try {
    const { context, close } = await startServer(config, pino({ level: "silent" }));
    const users = await context.store.read.sql.selectFrom("users").select("id").execute();
    await close();
    const blobs = await readdir(join(directory, "blobs"), { recursive: true });
    return { users: users.map(({ id }) => id).toSorted(), blobs: blobs.toSorted() };
  } catch (error) {
    expect((error as Error).message).toBe(
      `a restore of ${directory} was interrupted; run "windlass server restore --force FILE" again`,
    );
    return undefined;
  }
}

/** A data directory of a server that has stopped, with blobs. */
async function filled(into: string): Promise<void> {
  const plane = await startPlane();
  const owner = await addOwner(plane.context.store);
  const worker = await addTestWorker(plane, owner);
  for (let n = 0; n < 3; n += 1) {
    const job = await addHeldJob(plane, owner, worker);
    const headers = { ...worker.headers, "content-type": "application/octet-stream" };
    const path = `/api/jobs/${job.id}/plan-artifact`;
    const { status } = await ask(plane, "POST", path, { headers, body: randomBytes(2000) });
    expect(status).toBe(201);
  }
  await makeBackup(readConfig({ WINDLASS_DATA_DIR: plane.directory }), `${into}.tar.gz`, true);
  await plane.close();
  await restoreBackup(configOf(into), `${into}.tar.gz`, false);
}

const [before, after] = [join(scratch, "before"), join(scratch, "after")];
let [old, restored]: Awaited<ReturnType<typeof contentOf>>[] = [];
beforeAll(async () => {
  await writeFile(killer, killing);
  await filled(before);
  await filled(after);
  await makeBackup(configOf(after), backup, true);
  old = await contentOf(before);
  restored = await contentOf(after);
});

const restore = (directory: string, more: Record<string, string> = {}) =>
  windlass(["server", "restore", "--force", backup], {
    env: { WINDLASS_DATA_DIR: directory, ...more },
  });
const killed = (directory: string, more: Record<string, string>) =>
  restore(directory, { NODE_OPTIONS: `--import ${killer}`, ...more });

test("a killed restore leaves the old data, or data that only restore accepts", async () => {
  expect(old).toBeDefined();
  expect(old).not.toEqual(restored);
  const log = join(scratch, "changes");
  const whole = await mkdtemp(join(scratch, "whole-"));
  await cp(before, whole, { recursive: true });
  expect((await killed(whole, { KILL_LOG: log })).exitCode).toBe(0);
  const changes = (await readFile(log, "utf8")).trim().split("\n");
  const swap = changes.lastIndexOf("writeFile") + 1;
  expect(changes.slice(swap)).toContain("rename");
  const seen = { old: 0, refused: 0, restored: 0 };
  // All moments of the swap, and some before it.
  for (let at = 1; at <= changes.length; at += at < swap && !proving ? 4 : 1) {
    const directory = await mkdtemp(join(scratch, "killed-"));
    await cp(before, directory, { recursive: true });
    expect((await killed(directory, { KILL_AT: String(at) })).signal).toBe("SIGKILL");
    const content = await contentOf(directory);
    if (content === undefined) seen.refused += 1;
    else if (JSON.stringify(content) === JSON.stringify(old)) seen.old += 1;
    else {
      expect(content).toEqual(restored);
      seen.restored += 1;
    }
    // Until the swap, nothing has changed.
    expect([at, content === undefined]).toEqual([at, at > swap]);
    const again = await restore(directory);
    expect([again.exitCode, again.stderr]).toEqual([0, expect.any(String)]);
    expect(await contentOf(directory)).toEqual(restored);
    const left = await readdir(directory);
    expect(left).not.toContain(restoreMark);
    expect(left.filter((name) => name.startsWith("restoring-"))).toEqual([]);
  }
  expect(seen.old).toBeGreaterThan(2);
  expect(seen.refused).toBeGreaterThan(8);
});

test("a killed backup leaves no file, or a whole one, and the same command makes it", async () => {
  const file = join(await mkdtemp(join(scratch, "backups-")), "one.tar.gz");
  const run = (more: Record<string, string>) =>
    windlass(["server", "backup", file], {
      env: { WINDLASS_DATA_DIR: after, NODE_OPTIONS: `--import ${killer}`, ...more },
    });
  const isWhole = async (): Promise<boolean> => {
    if (!existsSync(file)) return false;
    const directory = await mkdtemp(join(scratch, "from-backup-"));
    await restoreBackup(configOf(directory), file, false);
    expect(await contentOf(directory)).toEqual(restored);
    await rm(file);
    return true;
  };
  const log = join(scratch, "changes-of-backup");
  expect((await run({ KILL_LOG: log })).exitCode).toBe(0);
  expect(await isWhole()).toBe(true);
  const changes = (await readFile(log, "utf8")).trim().split("\n");
  const whole: string[] = [];
  for (const [index, change] of changes.entries()) {
    expect((await run({ KILL_AT: String(index + 1) })).signal).toBe("SIGKILL");
    if (await isWhole()) whole.push(change);
  }
  expect(changes).toEqual(["mkdir", "writeFile", "createWriteStream", "link", "rm"]);
  expect(whole).toEqual(["rm"]);
  expect((await run({})).exitCode).toBe(0);
  expect(await isWhole()).toBe(true);
});
