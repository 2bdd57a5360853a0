/** Errors of the agent itself during a real apply, which goes on. */
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../helpers/agent/agent-process.ts";
import { isolationForHeldApply, startHeldApply } from "../helpers/agent/held-apply.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("an apply during which its agent can open no file ends with its own result", async () => {
  await using machine = await userMachine(plane, { agent: isolationForHeldApply });
  const { user, agent } = machine;
  await machine.ready();
  const { job, finish } = await startHeldApply(machine);
  const setLimit = (files: string): void => {
    execFileSync("prlimit", ["--pid", String(agent.pid), `--nofile=${files}:`]);
  };
  setLimit("8");
  const isHit = until(() => agent.log().includes("the job was interrupted and continues soon"));
  await Promise.race([isHit, sleep(20_000)]);
  await sleep(1000);
  setLimit("1024");
  finish();
  expect(await user.released(job)).toMatchObject({
    status: "SUCCESS",
    attempt: 1,
    log_complete: true,
  });
});
