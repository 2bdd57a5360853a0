import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folderForFile } from "../helpers/folders.ts";
import { windlass } from "../helpers/windlass.ts";

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

  it.each([
    [["--bogus"], 'windlass server has no option "--bogus"', "windlass server"],
    [["bogus"], 'windlass server has no command "bogus"', "windlass server"],
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
});
