import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folderForFile } from "../helpers/machine/folders.ts";
import { readConfig } from "../../control-plane/config.ts";
import { openContext } from "../../control-plane/context.ts";
import { fillDisk, makeReadOnly, needsRoot, smallDisk } from "../helpers/machine/small-disk.ts";
import { windlass } from "../helpers/cli/windlass.ts";

const folder = folderForFile();

/** Runs `windlass server` with these settings only. */
const server = (settings: Record<string, string>, ...words: string[]) =>
  windlass(["server", ...words], {
    env: { PATH: process.env["PATH"] ?? "", WINDLASS_PORT: "0", ...settings },
    extendEnv: false,
    timeout: 50_000,
    killSignal: "SIGKILL",
  });

describe("windlass server", () => {
  it.each([
    ["the data directory", { WINDLASS_DATA_DIR: "/proc/foo" }],
    ["the directory of the database", { WINDLASS_DATABASE_URL: "sqlite:/proc/foo/a.db" }],
    ["the directory of files", { WINDLASS_ARTIFACTS_URL: "file:/proc/foo/blobs" }],
  ])("ends with 78 and one line if %s cannot be made", async (_, settings) => {
    const result = await server({ WINDLASS_DATA_DIR: join(folder, "data"), ...settings });
    expect(result.stderr).toMatch(
      /^windlass server: .*mkdir '\/proc\/foo'; set WINDLASS_DATA_DIR.*$/,
    );
    expect(result.exitCode).toBe(78);
  });

  it.for(["new", "made"])(
    "names setting and disk if the data directory (%s) is on a full or a read-only disk",
    async (name, { skip }) => {
      await using disk = await smallDisk(1);
      if (disk === undefined) return skip(needsRoot);
      const WINDLASS_DATA_DIR = join(disk.path, name);
      if (name === "made") mkdirSync(WINDLASS_DATA_DIR);
      fillDisk(join(disk.path, "filler"));
      const full = await server({ WINDLASS_DATA_DIR });
      expect(full.stderr).toMatch(
        new RegExp(
          `^windlass server: .*${WINDLASS_DATA_DIR}.* is full; free some space on the disk of WINDLASS_DATA_DIR.*$`,
        ),
      );
      // The service starts again until there is space.
      expect(full.exitCode).toBe(1);

      rmSync(WINDLASS_DATA_DIR, { recursive: true, force: true });
      if (name === "made") mkdirSync(WINDLASS_DATA_DIR);
      await makeReadOnly(disk.path);
      const readOnly = await server({ WINDLASS_DATA_DIR });
      expect(readOnly.stderr).toMatch(
        new RegExp(
          `^windlass server: .*${WINDLASS_DATA_DIR}.*; set WINDLASS_DATA_DIR .* to a directory that this user may write to$`,
        ),
      );
      expect(readOnly.exitCode).toBe(78);
    },
  );

  it("blames no setting for the place of a backup", async () => {
    const WINDLASS_DATA_DIR = join(folder, "backed-up");
    await (await openContext(readConfig({ WINDLASS_DATA_DIR }))).close();
    const { stderr, exitCode } = await server(
      { WINDLASS_DATA_DIR },
      "backup",
      "/proc/foo/a.tar.gz",
    );
    expect(stderr).not.toContain("WINDLASS_");
    expect(exitCode).toBe(1);
  });

  it("blames no setting of the server for a database host that does not resolve", async () => {
    const WINDLASS_DATABASE_URL = "postgres://u:p@no-such-host.invalid/x";
    const secrets = { WINDLASS_SECRET_KEY: "k".repeat(32), CLI_JWT_SECRET: "j".repeat(32) };
    const settings = { ...secrets, WINDLASS_DATABASE_URL, WINDLASS_DATA_DIR: join(folder, "pg") };
    const { stderr } = await server({ ...settings, WINDLASS_PUBLIC_URL: "http://a.test" });
    expect(stderr).toContain("WINDLASS_DATABASE_URL cannot be opened");
    expect(stderr).not.toContain("WINDLASS_HOST");
  });

  it.each([
    [["--bogus"], 'windlass server has no option "--bogus"', "windlass server"],
    [["bogus"], 'windlass server has no command "bogus"', "windlass server"],
    [[""], 'windlass server has no command ""', "windlass server"],
    [
      ["backup", "--bogus"],
      "windlass server backup: Unknown option '--bogus'",
      "windlass server backup",
    ],
  ])("ends with 2 for %o, and says where the help is", async (words, message, helped) => {
    const { exitCode, stderr } = await server({}, ...words);
    expect(exitCode).toBe(2);
    const lines = (stderr as string).split("\n");
    expect(lines).toEqual([expect.stringContaining(message), `For help: ${helped} --help`]);
  });

  it("suggests the command that a misspelt one resembles", async () => {
    const { exitCode, stderr } = await server({}, "bakcup", "windlass.tar.gz");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("Did you mean windlass server backup?");
  });
});
