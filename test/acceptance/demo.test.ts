import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { leftIn, newHome, startDemo } from "../helpers/cli/demo-process.ts";
import { underProve } from "../helpers/project/proving.ts";
import { openTerminal } from "../helpers/machine/terminal.ts";

describe.concurrent("windlass demo", () => {
  it("plans and deploys the sample, shows its log and outputs, and leaves nothing behind", async (context) => {
    const { run, shows, left } = startDemo(context);
    await shows("starting the API server");
    const seen = performance.now();
    await shows("in sync");
    expect(performance.now() - seen, "the log is shown while it is written").toBeGreaterThan(1000);
    const { exitCode, stdout, stderr } = await run;
    expect({ exitCode, stderr, left: left() }).toEqual({ exitCode: 0, stderr: "", left: [] });
    expect(stdout).toMatch(/Control plane at http:\/\/127\.0\.0\.1:\d+/);
    expect(stdout).toMatch(/^ {2}│ Plan: 7 to add, 0 to change, 0 to destroy\.$/m);
    expect(stdout).toMatch(/^ {2}│ .*hello-node-1 is ready$/m);
    expect(stdout).toMatch(/^ {2}cluster_name +hello$/m);
    expect(stdout).toMatch(
      /^ {2}cluster_endpoint +https:\/\/hello\.clusters\.example\.test:6443$/m,
    );
    expect(stdout).toMatch(/^ {2}gitops_url +https:\/\/git\.example\.test\/platform\/hello$/m);
    expect(stdout, "no colours in a pipe").toBe(stripVTControlCharacters(String(stdout)));
    expect(stdout, "no warnings").not.toMatch(/warn|deprec|experimental/i);
  });

  it.for(underProve)(
    "shows colours in a terminal, and with --keep runs until Ctrl-C",
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
});
