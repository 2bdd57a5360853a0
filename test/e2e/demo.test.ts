import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it, vi, type TestContext } from "vitest";
import { processesOf } from "../helpers/processes.ts";
import { proving, underProve } from "../helpers/proving.ts";
import { openTerminal } from "../helpers/terminal.ts";
import { windlass } from "../helpers/windlass.ts";

/** A temporary directory, in which nothing may be left. */
function newHome({ onTestFinished }: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "demo-"));
  // For the users that jobs run as.
  chmodSync(home, 0o711);
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Right after its end: the directory is gone and so is everybody who worked in it. */
const leftIn = (home: string): string[] => [...readdirSync(home), ...processesOf(home)];

/** A demo with a temporary directory of its own. */
function demo(context: TestContext) {
  const home = newHome(context);
  const run = windlass(["demo"], {
    env: { TMPDIR: home, FORCE_COLOR: undefined },
    // It has things to clean up: no SIGKILL behind the signals of these tests.
    forceKillAfterDelay: false,
  });
  let output = "";
  run.stdout?.on("data", (data: Buffer) => (output += data.toString()));
  return {
    run,
    home,
    shows: (text: string | RegExp) =>
      vi.waitFor(() => expect(output).toMatch(text), { timeout: 120_000, interval: 20 }),
    left: () => leftIn(home),
  };
}

describe.concurrent("windlass demo", () => {
  it("plans and deploys the sample live, shows its outputs and leaves nothing behind", async (context) => {
    const { run, shows, left } = demo(context);
    await shows("starting the API server");
    const seen = performance.now();
    await shows("in sync");
    expect(performance.now() - seen, "the log is shown while it is written").toBeGreaterThan(1000);
    const { exitCode, stdout, stderr } = await run;
    expect({ exitCode, stderr, left: left() }).toEqual({ exitCode: 0, stderr: "", left: [] });
    expect(stdout).toMatch(/control plane at http:\/\/127\.0\.0\.1:\d+/);
    expect(stdout).toMatch(/^ {2}│ Plan: 7 to add, 0 to change, 0 to destroy\.$/m);
    expect(stdout).toMatch(/^ {2}│ .*hello-node-1 is ready$/m);
    expect(stdout).toMatch(/^ {2}cluster_name +hello$/m);
    expect(stdout).toMatch(
      /^ {2}cluster_endpoint +https:\/\/hello\.clusters\.example\.test:6443$/m,
    );
    expect(stdout).toMatch(/^ {2}gitops_url +https:\/\/git\.example\.test\/platform\/hello$/m);
    expect(stdout, "colours are for terminals").toBe(stripVTControlCharacters(String(stdout)));
    expect(stdout, "a newcomer has nothing to understand").not.toMatch(/warn|deprec|experimental/i);
  });

  it.for(underProve)(
    "does the same in a terminal, in colours, and stays with --keep until Ctrl-C",
    async (_, context) => {
      const home = newHome(context);
      await using terminal = openTerminal(["demo", "--keep"], { TMPDIR: home });
      const screen = await terminal.shows("logs/agent.log");
      expect(screen).toMatch(/^ {2}cluster_name +hello$/m);
      expect(screen, "a link to sign in").toMatch(/^ {2}http:\/\/127\.0\.0\.1:\d+\/\S+$/m);
      expect(terminal.raw()).toContain("\u001b[32m✓");
      terminal.type("\u0003");
      expect(await terminal.exited).toBe(0);
      expect(leftIn(home)).toEqual([]);
    },
  );

  // The signals share their way; the first is tried where most is running.
  const signals = [
    ["SIGINT", 130, "starting the API server"],
    ["SIGTERM", 143, "control plane at"],
  ] as const;
  it.for(proving ? signals : signals.slice(0, 1))(
    "cleans up when %s ends it",
    async ([signal, code, moment], context) => {
      const { run, shows, left } = demo(context);
      await shows(moment);
      run.kill(signal);
      const { exitCode, stderr } = await run;
      expect({ exitCode, stderr, left: left() }).toEqual({ exitCode: code, stderr: "", left: [] });
    },
  );

  it.for(underProve)("cleans up when nobody reads its output any more", async (_, context) => {
    const { run, shows, left } = demo(context);
    await shows("runner registered");
    run.stdout?.destroy();
    const { exitCode, stderr } = await run;
    expect({ exitCode, stderr, left: left() }).toEqual({ exitCode: 0, stderr: "", left: [] });
  });

  it("leaves nothing behind even when it is killed", async (context) => {
    const { run, shows, left } = demo(context);
    await shows("starting the API server");
    run.kill("SIGKILL");
    await run;
    await vi.waitFor(() => expect(left()).toEqual([]), { timeout: 120_000, interval: 100 });
  });

  it("says in one line what failed and where the logs are", async (context) => {
    const { run, shows, home } = demo(context);
    await shows("runner registered");
    const agent = processesOf(home).find((one) => one.endsWith("main.ts agent"));
    process.kill(Number(agent?.split(":")[0]), "SIGKILL");
    const { exitCode, stderr } = await run;
    expect(exitCode).toBe(1);
    const [line, where = ""] = String(stderr).split("\n");
    expect(line).toMatch(/^windlass demo: the runner ended by itself \(SIGKILL\); its log: \S+$/);
    const logs = where.replace("The logs of control plane and runner are in ", "");
    expect(readdirSync(join(logs, ".."))).toEqual(["logs"]);
    expect(new Set(readdirSync(logs))).toEqual(new Set(["agent.log", "server.log"]));
    expect(readFileSync(join(logs, "agent.log"), "utf8")).not.toBe("");
    expect(processesOf(home)).toEqual([]);
  });
});
