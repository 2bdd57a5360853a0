/** `windlass server install --root`, which writes below a directory of the test. */
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folderForFile } from "../helpers/machine/folders.ts";
import { leftBy } from "../helpers/project/installed.ts";
import { lackOfProgram, skipAt } from "../helpers/project/tools.ts";
import { bin } from "../helpers/cli/windlass.ts";

const place = folderForFile();

function install(args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(bin, ["server", "install", ...args], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("windlass server install", () => {
  skipAt(lackOfProgram("systemd-sysusers"));

  test("writes the unit, the user and the settings, and changes only what differs", () => {
    const root = join(place, "root");
    const args = ["--public-url", "https://w.example.com", "--trusted-proxies", "127.0.0.1"];
    const first = install([...args, "--root", root]);
    expect(first).toMatchObject({ status: 0, stderr: "" });
    expect(first.stdout).toContain("systemd accepts the unit");
    expect(leftBy(first.stdout, root)).toEqual([]);
    const settings = join(root, "etc/windlass/server.env");
    expect(statSync(settings).mode & 0o777).toBe(0o640);
    expect(readFileSync(join(root, "etc/passwd"), "utf8")).toMatch(/^windlass-server:.*nologin$/m);
    const unit = readFileSync(join(root, "etc/systemd/system/windlass-server.service"), "utf8");
    expect(unit).toMatch(/^ExecStart=\/\S+\/bin\/windlass server$/m);

    const again = install(["--root", root, "--port", "9000"]);
    expect(again.status).toBe(0);
    expect(again.stdout).toContain(`written: ${settings}`);
    expect(again.stdout).not.toContain("windlass-server.service");
    expect(readFileSync(settings, "utf8").split("\n").slice(1)).toEqual([
      "WINDLASS_PUBLIC_URL=https://w.example.com",
      "WINDLASS_TRUSTED_PROXIES=127.0.0.1",
      "WINDLASS_PORT=9000",
      "",
    ]);
  });

  test.each([
    [[], 2, "--public-url is missing"],
    [["--public-url", "https://x", "--host", "a b"], 2, "WINDLASS_HOST must be a host name"],
    [["--public-url", "https://x", "--port", "many"], 2, "WINDLASS_PORT"],
    [["--speed", "9"], 2, "Unknown option '--speed'"],
  ])("refuses %j and changes nothing", (args, status, words) => {
    const root = join(place, "refused");
    const result = install([...args, "--root", root]);
    expect(result.status).toBe(status);
    expect(result.stderr).toContain(words);
    expect(() => statSync(root)).toThrow("ENOENT");
  });
});
