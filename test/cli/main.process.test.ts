import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { commandsWithVerb } from "../../cli/like.ts";
import { root } from "../helpers/project/source-files.ts";
import { bin, windlass } from "../helpers/cli/windlass.ts";
import { modulesOfCommand } from "../helpers/project/loaded-modules.ts";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
};

describe("windlass", () => {
  it.each(["--version", "-V"])("prints its version with %s", async (option) => {
    const { exitCode, stdout, stderr } = await windlass([option]);
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: manifest.version,
      stderr: "",
    });
  });

  it.each([
    ["server", "--version"],
    ["server", "-V"],
    ["agent", "--version"],
  ])("prints the version of the role with: %s %s", async (...words) => {
    expect(await windlass(words)).toMatchObject({
      exitCode: 0,
      stdout: manifest.version,
      stderr: "",
    });
  });

  it.each([["--help"], ["help"], []])("lists the commands with: %s", async (...words) => {
    const { exitCode, stdout, stderr } = await windlass(words);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    for (const command of ["demo", "server", "agent"]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b`, "m"));
    }
  });

  it("lists them on one screen of 40 lines, each on one line; --help adds settings", async () => {
    const [brief, whole] = await Promise.all([windlass(["help"]), windlass(["--help"])]);
    const lines = String(brief.stdout).trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(40);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(brief.stdout).not.toMatch(/WINDLASS_|--team/);
    expect(whole.stdout).toMatch(/--team <team>[^]*^Settings:$[^]*WINDLASS_URL[^]*^Examples:$/m);
  });

  it.each([
    [["help", "server"], /^Usage: windlass server \[command\]\n[^]*\blogin-link\b/],
    [["help", "server", "backup"], /^Usage: windlass server backup /],
    [["help", "agent"], /^Usage: windlass agent \[command\]\n[^]*\bdoctor\b/],
    [["help", "jobs", "list"], /^Usage: windlass jobs list /],
  ])("shows the help of a role and of a verb with: %j", async (words, help) => {
    expect(await windlass(words)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(help),
    });
  });

  it.each([
    [["demmo"], "demo"],
    [["help", "jbs"], "jobs"],
    [["help", "jobs", "pln"], "plan"],
    [["jobs", "help", "pln"], "plan"],
    [["jobs", "pln", "--help"], "plan"],
    [["jobs", "pln"], "plan"],
  ])("suggests the command that was meant: %j", async (words, meant) => {
    const { exitCode, stdout, stderr } = await windlass(words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^error: unknown command/);
    expect(stderr).toContain(`(Did you mean ${meant}?)`);
    if (words.includes("jobs")) expect(stderr).toContain("The commands of windlass jobs: ");
  });

  it("takes --version for no version of a state", async () => {
    const words = ["state", "rollback", "network", "--version", "7"];
    const { exitCode, stdout, stderr } = await windlass(words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^error: --version prints the version of windlass/);
  });

  it.each([
    ["plan network", "jobs plan"],
    ["doctor", "server doctor or windlass agent doctor"],
    ["backup", "server backup"],
    ["install", "server install or windlass agent install"],
    ["apply", "up or windlass jobs deploy"],
    ["output network", "configurations show"],
    ["taint network", "jobs plan --replace"],
    ["force-unlock network", "state unlock"],
  ])("suggests the whole command when the noun is missing: %s", async (words, whole) => {
    const { exitCode, stderr } = await windlass(words.split(" "));
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`Did you mean windlass ${whole}?`);
  });

  it.each([
    [["up", "--auto-approve"], "--yes"],
    [["up", "-auto-approve", "-var", "a=b"], "--yes"],
    [["jobs", "plan", "network", "-target=a.b"], "--target"],
    [["jobs", "list", "-json"], "--json"],
    [["up", "-target=a.b"], "windlass jobs plan --target"],
  ])("suggests the option for one of terraform: %j", async (words, option) => {
    const { exitCode, stderr } = await windlass(words);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(new RegExp(`^error: unknown option [^]*\\nDid you mean ${option}\\?$`));
  });

  it.each([
    [64, ["jobs", "plan", "--detailed-exitcode"]],
    [64, ["jobs", "plan", "network", "--detailed-exitcode", "--nosuch"]],
    [2, ["up", "network", "--detailed-exitcode"]],
    [2, ["zones", "list", "--detailed-exitcode"]],
    [2, ["nosuch", "--detailed-exitcode"]],
  ])("ends wrong usage with %i: %j", async (code, words) => {
    expect((await windlass(words)).exitCode).toBe(code);
  });

  it("suggests no option that the command does not have", async () => {
    const { exitCode, stderr } = await windlass(["jobs", "list", "-out=plan"]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: "error: unknown option '-out=plan'\nFor help: windlass jobs list --help",
    });
  });

  it("suggests nothing for a word that only objects of JavaScript have", async () => {
    const { exitCode, stderr } = await windlass(["constructor"]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: "error: unknown command 'constructor'\nFor help: windlass --help",
    });
  });

  it.each(["server", "agent"])("knows every command of windlass %s", async (role) => {
    const { stdout } = await windlass([role, "--help"]);
    const [, list = ""] = /^Commands:\n([\s\S]*?)\n\n/m.exec(stdout as string) ?? [];
    const verbs = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, verb = ""]) => verb);
    expect(verbs.length).toBeGreaterThan(1);
    for (const verb of verbs)
      expect(await commandsWithVerb(verb)).toContain(`windlass ${role} ${verb}`);
  });

  it.each([
    [["state", "resources", "network"], "versions, list, show, "],
    [["configurations", "set", "--help"], "list, show, create, "],
    [["teams", "members", "set", "grace"], "list, "],
  ])("lists the commands of a noun after one that it does not have: %j", async (words, verbs) => {
    const { exitCode, stdout, stderr } = await windlass(words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^error: unknown command/);
    const noun = words.slice(
      0,
      words.findIndex((word) => ["resources", "set"].includes(word)),
    );
    expect(stderr).toContain(`The commands of windlass ${noun.join(" ")}: ${verbs}`);
  });

  it("names the help of the command whose arguments are wrong", async () => {
    const { exitCode, stderr } = await windlass(["jobs", "plan"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("For help: windlass jobs plan --help");
  });

  it.each([
    ["an unknown option", ["demo", "--kep"]],
    ["too many arguments", ["demo", "now"]],
    ["an empty word", [""]],
  ])("ends with 2 at %s", async (_, words) => {
    const { exitCode, stderr } = await windlass(words);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^error: /);
  });

  it("ends silently with 0 when its reader closes the pipe", async () => {
    const { exitCode, stdout, stderr } = await execa("sh", ["-c", `"${bin}" --help | head -n 1`], {
      reject: false,
    });
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: "Usage: windlass <command> [options]",
      stderr: "",
    });
  });

  it("says that the disk is full where its output goes", async () => {
    const shell = `"${bin}" --help > /dev/full`;
    const { exitCode, stderr } = await execa("sh", ["-c", shell], { reject: false });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: "windlass: The output of the command cannot be written: the disk is full.",
    });
  });

  it("names a current directory that was removed, without a stack", async () => {
    const shell = `d=$(mktemp -d); cd "$d"; rmdir "$d"; exec "${bin}" up`;
    const { exitCode, stderr } = await execa("sh", ["-c", shell], { reject: false });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(
        /^(sh: .*\n)?windlass: The current directory no longer exists\.$/,
      ),
    });
  });

  it("loads no dependency to print its version", async () => {
    const { output, loaded } = await modulesOfCommand("--version");
    expect(output).toBe(manifest.version);
    expect(loaded).toContain("main.ts");
    expect(loaded.filter((path) => path.includes("node_modules/"))).toEqual([]);
  });
});
