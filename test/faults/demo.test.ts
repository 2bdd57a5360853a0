/** A demo leaves nothing behind when it is interrupted, killed or fails. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { startDemo } from "../helpers/cli/demo-process.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { proving, underProve } from "../helpers/project/proving.ts";

describe.concurrent("windlass demo", () => {
  // Both signals have one handler. The first is sent while most processes run.
  const signals = [
    ["SIGINT", 130, "starting the API server"],
    ["SIGTERM", 143, "Control plane at"],
  ] as const;
  it.for(proving ? signals : signals.slice(0, 1))(
    "cleans up on %s",
    async ([signal, code, moment], context) => {
      const { run, shows, left } = startDemo(context);
      await shows(moment);
      run.kill(signal);
      const { exitCode, stderr } = await run;
      expect({ exitCode, stderr, left: left() }).toEqual({ exitCode: code, stderr: "", left: [] });
    },
  );

  it.for(underProve)("cleans up when its output is closed", async (_, context) => {
    const { run, shows, left } = startDemo(context);
    await shows("Runner registered");
    run.stdout?.destroy();
    const { exitCode, stderr } = await run;
    expect({ exitCode, stderr, left: left() }).toEqual({ exitCode: 0, stderr: "", left: [] });
  });

  it("leaves nothing behind when it is killed", async (context) => {
    const { run, shows, left } = startDemo(context);
    await shows("starting the API server");
    run.kill("SIGKILL");
    await run;
    await vi.waitFor(() => expect(left()).toEqual([]), { timeout: 120_000, interval: 100 });
  });

  it("reports what failed, the end of its log, and where the logs are", async (context) => {
    const { run, shows, home } = startDemo(context);
    await shows("Runner registered");
    const agent = processesOf(home).find((one) => one.endsWith("main.ts agent"));
    process.kill(Number(agent?.split(":")[0]), "SIGKILL");
    const { exitCode, stderr } = await run;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^windlass demo: Unexpected end of the runner \(SIGKILL\)\. Its log \S+\/agent\.log ends with:(\n  [^\s{].*){1,3}\nThe logs/,
    );
    const where = String(stderr).split("\n").at(-1) ?? "";
    const logs = where.replace("The logs of the control plane and the runner are in ", "");
    expect(readdirSync(join(logs, ".."))).toEqual(["logs"]);
    expect(new Set(readdirSync(logs))).toEqual(new Set(["agent.log", "server.log"]));
    expect(readFileSync(join(logs, "agent.log"), "utf8")).not.toBe("");
    expect(processesOf(home)).toEqual([]);
  });
});
