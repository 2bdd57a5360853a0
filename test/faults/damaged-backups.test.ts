/**
 * Archives that cannot be restored: truncated, damaged, hostile or newer. Each is refused and
 * changes nothing.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import {
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import * as tar from "tar";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { makeBackup } from "../../control-plane/backup/backup.ts";
import type { Manifest } from "../../control-plane/backup/manifest.ts";
import { restoreBackup } from "../../control-plane/backup/restore.ts";
import { readConfig } from "../../control-plane/config.ts";
import { lockName } from "../../control-plane/data-directory/lock.ts";
import { addHeldJob, addTestWorker, ask, startPlane } from "../helpers/plane/plane.ts";
import { addOwner } from "../helpers/plane/rows.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const scratch = folderForFile();
const good = join(scratch, "good.tar.gz");
beforeAll(async () => {
  const plane = await startPlane();
  const owner = await addOwner(plane.context.store);
  const worker = await addTestWorker(plane, owner);
  for (let n = 0; n < 3; n += 1) {
    const job = await addHeldJob(plane, owner, worker);
    const answer = await ask(plane, "POST", `/api/jobs/${job.id}/plan-artifact`, {
      headers: { ...worker.headers, "content-type": "application/octet-stream" },
      body: randomBytes(20_000),
    });
    if (answer.status !== 201) throw new Error(`the upload was answered ${answer.status}`);
  }
  await makeBackup(readConfig({ WINDLASS_DATA_DIR: plane.directory }), good, true);
  await plane.close();
});

/** A directory with a file of the user, into which nothing may be written. */
let target: string;
beforeEach(async () => {
  target = await mkdtemp(join(scratch, "target-"));
  await writeFile(join(target, "mine"), "mine");
});
/** Restores with --force and expects a refusal that changes nothing. */
async function expectRefused(file: string, why: RegExp): Promise<void> {
  const config = readConfig({ WINDLASS_DATA_DIR: target });
  await expect(restoreBackup(config, file, true)).rejects.toThrow(why);
  expect((await readdir(target)).toSorted()).toEqual(["mine", lockName]);
}

/** The good backup with changes to its files, its manifest or its packing. */
async function changed(
  change: (folder: string, manifest: Manifest, paths: string[]) => Promise<void> | void,
): Promise<string> {
  const folder = await mkdtemp(join(scratch, "changed-"));
  await tar.extract({ file: good, cwd: folder });
  const path = join(folder, "manifest.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as Manifest;
  const paths = ["manifest.json", ...manifest.members.map((member) => member.path)];
  await change(folder, manifest, paths);
  if (existsSync(path)) await writeFile(path, JSON.stringify(manifest));
  const file = `${folder}.tar.gz`;
  await tar.create({ file, cwd: folder, gzip: true, preservePaths: true }, paths);
  return file;
}

/** Updates the manifest for a changed file. */
async function admit(folder: string, { members }: Manifest, path: string): Promise<void> {
  const content = await readFile(join(folder, path));
  const sha256 = createHash("sha256").update(content).digest("hex");
  const member = members.find((one) => one.path === path);
  Object.assign(member!, { sha256, size_bytes: content.length });
}

const blobOf = ({ members }: Manifest): string =>
  members.find(({ path }) => path.startsWith("blobs/"))!.path;
const withDatabase = (folder: string, work: (database: Database.Database) => void): void => {
  const database = new Database(join(folder, "windlass.db"));
  work(database);
  database.close();
};

test("an unchanged backup that is packed again is restored, so that each refusal is due to its change", async () => {
  const fresh = join(scratch, "fresh");
  const file = await changed(() => undefined);
  await restoreBackup(readConfig({ WINDLASS_DATA_DIR: fresh }), file, false);
  expect((await readdir(fresh)).toSorted()).toEqual(["blobs", "secrets", lockName, "windlass.db"]);
});

test("a truncated backup is refused", async () => {
  const whole = await readFile(good);
  for (let part = 0; part < 12; part += 1) {
    const file = join(scratch, `cut-${part}`);
    await writeFile(file, whole.subarray(0, Math.floor((whole.length * part) / 12)));
    await expectRefused(file, /incomplete|no manifest|missing|damaged/);
  }
  const file = join(scratch, "cut-last");
  await writeFile(file, whole.subarray(0, -1));
  await expectRefused(file, /incomplete/);
});

function unzipped(bytes: Buffer): Buffer | undefined {
  try {
    return gunzipSync(bytes);
  } catch {
    return undefined;
  }
}

test("a backup with any flipped byte is refused", async () => {
  const whole = await readFile(good);
  for (let turn = 0; turn < 25; turn += 1) {
    const bytes = Buffer.from(whole);
    const at = 10 + Math.floor(((bytes.length - 20) * turn) / 25);
    bytes[at]! ^= 0x10;
    // gzip ignores a few bits, such as those between two blocks.
    if (unzipped(bytes)?.equals(gunzipSync(whole))) continue;
    const file = join(scratch, `turned-${turn}`);
    await writeFile(file, bytes);
    await expectRefused(file, /damaged|belong|known?s|missing/);
  }
});

type Change = Parameters<typeof changed>[0];
test.each<[string, RegExp, Change]>([
  [
    "a file that its manifest does not list",
    /does not list/,
    (_, manifest) => void manifest.members.pop(),
  ],
  [
    "a missing file",
    /is missing/,
    (_, manifest, paths) => void paths.splice(paths.indexOf(blobOf(manifest)), 1),
  ],
  ["no manifest", /no manifest/, (_, _m, paths) => void paths.shift()],
  [
    "a manifest of another format",
    /this version of Windlass cannot read its manifest/,
    (_, manifest) => void Object.assign(manifest, { format: 2 }),
  ],
  [
    "no database",
    /no database/,
    (_, manifest, paths) => {
      manifest.members = manifest.members.filter(({ path }) => path !== "windlass.db");
      paths.splice(paths.indexOf("windlass.db"), 1);
    },
  ],
  [
    "a missing blob that a row refers to",
    /names blobs.*missing/,
    (_, manifest, paths) => {
      const blob = blobOf(manifest);
      manifest.members = manifest.members.filter(({ path }) => path !== blob);
      paths.splice(paths.indexOf(blob), 1);
    },
  ],
  [
    "a changed blob",
    /is damaged/,
    (folder, manifest) => writeFile(join(folder, blobOf(manifest)), "changed"),
  ],
  ["the same file twice", /twice/, (_, _m, paths) => void paths.push("windlass.db")],
  [
    "an unexpected file",
    /does not belong/,
    async (folder, manifest, paths) => {
      await writeFile(join(folder, "authorized_keys"), "x");
      paths.push("authorized_keys");
      manifest.members.push({ path: "authorized_keys", size_bytes: 1, sha256: "0".repeat(64) });
    },
  ],
  [
    "a path outside the directory",
    /does not belong/,
    async (folder, _, paths) => {
      await writeFile(join(folder, "..", "escaped"), "x");
      paths.push("../escaped");
    },
  ],
  [
    "an absolute path",
    /does not belong/,
    async (folder, _, paths) => {
      await writeFile(join(folder, "absolute"), "x");
      paths.push(join(folder, "absolute"));
    },
  ],
  [
    "a symbolic link instead of a directory",
    /SymbolicLink/,
    async (folder, _, paths) => {
      await rename(join(folder, "blobs"), join(folder, "real"));
      await symlink("/tmp", join(folder, "blobs"));
      paths.splice(1, Infinity, "blobs");
    },
  ],
  [
    "a symbolic link instead of a file",
    /SymbolicLink/,
    async (folder) => {
      await rename(join(folder, "windlass.db"), join(folder, "real"));
      await symlink("real", join(folder, "windlass.db"));
    },
  ],
  [
    "a hard link",
    /is a Link/,
    async (folder, manifest) => {
      const [one, other] = manifest.members.filter(({ path }) => path.startsWith("blobs/"));
      await rm(join(folder, other!.path));
      await link(join(folder, one!.path), join(folder, other!.path));
    },
  ],
  [
    "a directory",
    /Directory/,
    async (folder, _, paths) => {
      await mkdir(join(folder, "empty"));
      paths.push("empty");
    },
  ],
  [
    "an invalid database",
    /cannot be read|damaged/,
    async (folder, manifest) => {
      await writeFile(join(folder, "windlass.db"), randomBytes(50_000));
      await admit(folder, manifest, "windlass.db");
    },
  ],
  [
    "a truncated database",
    /cannot be read|damaged/,
    async (folder, manifest) => {
      await truncate(join(folder, "windlass.db"), 40_960);
      await admit(folder, manifest, "windlass.db");
    },
  ],
  [
    "a row that refers to a missing row",
    /names one that is not there/,
    async (folder, manifest) => {
      withDatabase(folder, (database) => {
        database.pragma("foreign_keys = OFF");
        database.exec("delete from spaces");
      });
      await admit(folder, manifest, "windlass.db");
    },
  ],
  [
    "a newer schema",
    /newer Windlass/,
    (_, manifest) => void Object.assign(manifest, { schema_version: 999 }),
  ],
  [
    "a newer schema than its manifest says",
    /does not match its manifest/,
    async (folder, manifest) => {
      withDatabase(folder, (database) => database.exec("update schema_version set version = 999"));
      await admit(folder, manifest, "windlass.db");
    },
  ],
])("a backup with %s is refused", async (_, why, change) => {
  const file = await changed(change);
  await rm(join(scratch, "escaped"), { force: true });
  await expectRefused(file, why);
  expect(await readdir(scratch)).not.toContain("escaped");
});

test("the command reports the file and the reason, and exits with code 1", async () => {
  const file = await changed(
    (_, manifest, paths) => void paths.splice(paths.indexOf(blobOf(manifest)), 1),
  );
  const { exitCode, stderr, stdout } = await windlass(["server", "restore", "--force", file], {
    env: { WINDLASS_DATA_DIR: target },
  });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect((await readdir(target)).toSorted()).toEqual(["mine", lockName]);
  expect(stderr).toMatch(
    new RegExp(`^windlass server: ${file} is not restored: "blobs/.*" is missing$`, "m"),
  );
});
