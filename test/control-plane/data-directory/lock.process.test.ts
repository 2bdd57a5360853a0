/** Only one process at a time owns the data directory. Commands that may run beside it do. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { makeBackup } from "../../../control-plane/backup/backup.ts";
import { restoreBackup } from "../../../control-plane/backup/restore.ts";
import { readConfig } from "../../../control-plane/config.ts";
import { openContext } from "../../../control-plane/context.ts";
import { knownSchema } from "../../../control-plane/store/migrate.ts";
import { version as release010 } from "../../../control-plane/store/migrations/release-0.1.0.ts";
import { openBeside, openSqlite } from "../../../control-plane/store/engines/sqlite.ts";
import { spawnServer, type ServerProcess } from "../../helpers/plane/server-process.ts";
import { bin } from "../../helpers/cli/windlass.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Made by the server. */
const directory = join(folderForFile(), "data");
const scratch = folderForFile();
let server: ServerProcess;
beforeAll(async () => {
  server = spawnServer(directory);
  await server.ready;
});
afterAll(() => server[Symbol.asyncDispose]());

const refusal = () =>
  `another Windlass server (or a restore, rotate-key or migrate-store) uses ${directory}`;

describe("the data directory of a running server", () => {
  it("is refused to a second server, also in another PID namespace, before it changes anything", async () => {
    const upload = join(directory, "blobs", "unfinished", "upload");
    await writeFile(upload, "half of a plan", { mode: 0o600 });
    const unshare = ["unshare", "--pid", "--fork"] as const;
    const mayUnshare = !(await execa(unshare[0], [...unshare.slice(1), "true"], { reject: false }))
      .failed;
    const command = [...(mayUnshare ? unshare : []), bin, "server"];
    const { exitCode, stderr } = await execa(command[0]!, command.slice(1), {
      reject: false,
      env: { WINDLASS_PORT: new URL(await server.ready).port, WINDLASS_DATA_DIR: directory },
    });
    expect(stderr).toContain(refusal());
    expect(exitCode).toBe(1);
    expect(existsSync(upload)).toBe(true);
  });

  it("is refused to a server that shares only its blobs", async () => {
    const config = readConfig({
      WINDLASS_DATA_DIR: scratch,
      WINDLASS_ARTIFACTS_URL: `file:${directory}/blobs`,
    });
    await expect(openContext(config)).rejects.toThrow(refusal());
  });

  it("is open to a backup and a sign-in link, and refused to a restore", async () => {
    const config = readConfig({ WINDLASS_DATA_DIR: directory });
    await (await openBeside(config.databaseFile)).close();
    const backup = join(scratch, "backup.tar.gz");
    await makeBackup(config, backup, true);
    await expect(restoreBackup(config, backup, true)).rejects.toThrow(refusal());
  });

  it("has a database that only its user can read, also after its mode was changed", async () => {
    const file = join(scratch, "open.db");
    const store = await openSqlite(file);
    const files = [file, `${file}-wal`, `${file}-shm`];
    for (const path of files) expect((await stat(path)).mode & 0o777).toBe(0o600);
    for (const path of files) await chmod(path, 0o644);
    await store.close();
    await (await openSqlite(file)).close();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    for (const path of await readdir(directory, { recursive: true, withFileTypes: true }))
      if (path.isFile())
        expect((await stat(join(path.parentPath, path.name))).mode & 0o077).toBe(0);
  });

  it("can be entered by the users of jobs, for a runner inside it, but nothing in it can", async () => {
    expect((await stat(directory)).mode & 0o777).toBe(0o711);
    for (const entry of await readdir(directory, { withFileTypes: true }))
      expect((await stat(join(directory, entry.name))).mode & 0o077).toBe(0);
  });

  it("is released at once by a kill", async () => {
    server.kill("SIGKILL");
    await server.exited;
    await (await openContext(readConfig({ WINDLASS_DATA_DIR: directory }))).close();
  });
});

describe("a store of another release", () => {
  it.each([
    ["an older", release010],
    ["a newer", knownSchema + 1],
  ])(
    "that is %s one is refused to a command beside it and left unchanged",
    async (which, schema) => {
      const file = join(scratch, `${schema}.db`);
      await (await openSqlite(file)).close();
      const database = new Database(file);
      database
        .prepare("update schema_version set version = ?, compatible_since = ?")
        .run(schema, schema);
      await expect(openBeside(file)).rejects.toThrow(
        `written by ${which} Windlass (schema ${schema}`,
      );
      expect(database.prepare("select version from schema_version").pluck().get()).toBe(schema);
      database.close();
    },
  );

  it("that is damaged is refused with its path", async () => {
    const file = join(scratch, "damaged.db");
    await writeFile(file, "no database ".repeat(1000));
    await expect(openSqlite(file)).rejects.toThrow(`the database ${file} cannot be opened`);
  });

  it("that is a directory is refused, and the directory keeps its mode", async () => {
    const directory = join(scratch, "directory");
    await mkdir(directory, { mode: 0o755 });
    const message = `the database ${directory} cannot be opened`;
    await expect(openSqlite(directory)).rejects.toThrow(message);
    expect((await stat(directory)).mode & 0o777).toBe(0o755);
  });
});
