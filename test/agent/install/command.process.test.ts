/** `windlass agent install --root`, which writes below a directory of the test. */
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratch } from "../../helpers/agent/agent-process.ts";
import { leftBy } from "../../helpers/project/installed.ts";
import { lackOfProgram, skipAt } from "../../helpers/project/tools.ts";
import { openTerminal } from "../../helpers/machine/terminal.ts";
import { bin } from "../../helpers/cli/windlass.ts";

function install(args: readonly string[], input = "") {
  const { status, stdout, stderr } = spawnSync(bin, ["agent", "install", ...args], {
    encoding: "utf8",
    input,
  });
  return { status, stdout, stderr };
}

describe("windlass agent install", () => {
  skipAt(lackOfProgram("systemd-sysusers"));

  test("writes the unit, the user, the settings and the token, which only root can read", () => {
    using place = scratch();
    const root = place.path;
    const token = "wlr_0123456789abcdef";
    const args = ["--url", "https://w.example.com", "--registration-token-file", "-"];
    const first = install([...args, "--root", root], `${token}\n`);
    expect(first).toMatchObject({ status: 0, stderr: "" });
    expect(first.stdout).toContain("systemd accepts the unit");
    expect(leftBy(first.stdout, root)).toEqual([]);
    const file = (path: string) => join(root, path);
    const credential = file("etc/credstore/windlass-agent.registration-token");
    expect(readFileSync(credential, "utf8")).toBe(`${token}\n`);
    expect(statSync(credential).mode & 0o777).toBe(0o600);
    expect(statSync(file("etc/windlass/agent.env")).mode & 0o777).toBe(0o640);
    expect(readFileSync(file("etc/passwd"), "utf8")).toMatch(/^windlass-agent:.*nologin$/m);
    for (const path of ["etc/systemd/system/windlass-agent.service", "etc/windlass/agent.env"])
      expect(readFileSync(file(path), "utf8")).not.toContain(token);

    const again = install(["--root", root]);
    expect(again).toMatchObject({ status: 0 });
    expect(again.stdout).toContain("all files are up to date");
    const changed = install(["--root", root, "--concurrency", "4"]);
    expect(changed.stdout).toContain(`written: ${file("etc/windlass/agent.env")}`);
    expect(readFileSync(file("etc/windlass/agent.env"), "utf8")).toContain(
      "WINDLASS_URL=https://w.example.com\nWINDLASS_CONCURRENCY=4\n",
    );
  });

  test("asks for the token on a terminal, and does not show it", async () => {
    using place = scratch();
    const token = "wlr_0123456789abcdef";
    const args = ["--url", "https://w.example.com", "--registration-token-file", "-"];
    await using terminal = openTerminal(["agent", "install", ...args, "--root", place.path], {});
    await terminal.shows("Registration token: ");
    terminal.type(`${token}\r`);
    expect(await terminal.exited).toBe(0);
    expect(terminal.raw()).not.toContain(token);
    const credential = join(place.path, "etc/credstore/windlass-agent.registration-token");
    expect(readFileSync(credential, "utf8")).toBe(`${token}\n`);
  });

  test.each([
    [[], 2, "--url is missing"],
    [["--url", "https://x", "--registration-token-file", "nope"], 1, "nope: there is no such file"],
    [["--url", "ftp://x"], 2, "WINDLASS_URL"],
    [["--url", "https://x", "--concurrency", "many"], 2, "WINDLASS_CONCURRENCY"],
    [["--speed", "9"], 2, "Unknown option '--speed'"],
    [["--url", "https://x", "--registration-token-file", "-"], 1, "not a registration token"],
  ])("refuses %j and changes nothing", (args, status, words) => {
    using place = scratch();
    const result = install([...args, "--root", join(place.path, "root")]);
    expect(result.status).toBe(status);
    expect(result.stderr).toContain(words);
    expect(() => statSync(join(place.path, "root"))).toThrow("ENOENT");
  });
});
