/**
 * The clock of an agent's machine is set forwards and back by hours while it waits and while a job
 * runs: nothing ends early or waits for the length of the step.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { hour } from "../../common/units.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { findWorker } from "../../control-plane/store/workers/workers.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile({ WINDLASS_OFFLINE_SECONDS: "10" });
const place = folderForFile();

/** Steps the clock of a process by what is in the file, but neither its timers nor its monotonic clock. */
const steppingClock = (file: string): string => `
import { readFileSync } from "node:fs";
const Real = Date;
const step = () => Number(readFileSync(${JSON.stringify(file)}, "utf8"));
globalThis.Date = class extends Real {
  constructor(...args) {
    if (args.length > 0) super(...args);
    else super(Real.now() + step());
  }
  static now() {
    return Real.now() + step();
  }
};
`;

const main = (seconds: number): string => `resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "for n in $(seq ${seconds}); do echo second $n; sleep 1; done"
  }
}
`;

async function clockMachine() {
  const clock = join(place, `clock-${process.hrtime.bigint()}`);
  const program = `${clock}.mjs`;
  const step = (by: number): void => writeFileSync(clock, String(by));
  step(0);
  writeFileSync(program, steppingClock(clock));
  const machine = await userMachine(plane, {
    agent: {
      NODE_OPTIONS: `--import ${pathToFileURL(program).href}`,
      WINDLASS_ISOLATION: "process",
    },
  });
  return { machine, step, [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose]() };
}

const deploy = async (
  { user }: UserMachine,
  seconds: number,
  timeout_seconds = 120,
): Promise<Job> => {
  const source = { type: "inline", files: { "main.tf": main(seconds) } };
  const configuration_id = await user.configure({ source, timeout_seconds });
  return user.queue({ job_type: "DEPLOY", configuration_id });
};

describe.concurrent.each([
  ["forwards", 6 * hour],
  ["back", -6 * hour],
])("a clock that is set %s by six hours", (_, by) => {
  test("ends no job, keeps the log and the heartbeat, and no job waits for it", async () => {
    await using stepped = await clockMachine();
    const { machine, step } = stepped;
    const { user } = machine;
    await machine.ready();
    const { workerId: id } = await machine.identity();
    // While the agent waits for a job.
    step(by);
    const job = await deploy(machine, 8);
    await user.reaches(job, "PROCESSING");
    const says = async (text: string): Promise<void> => {
      while (!(await user.log(job)).includes(text)) await new Promise((go) => setTimeout(go, 50));
    };
    await says("second 2");
    // While it runs; and back again.
    step(2 * by);
    await says("second 4");
    step(0);
    await says("second 6");
    expect(await user.released(job)).toMatchObject({ status: "SUCCESS", log_complete: true });
    const worker = await plane.context.store.read.first(findWorker, { id });
    expect(worker?.offline_at).toBeNull();
    expect(machine.agentLog()).not.toMatch(/revoked|expired|certificate/);
    const next = await deploy(machine, 1);
    expect(await user.released(next)).toMatchObject({ status: "SUCCESS" });
  });

  test("does not change when a job times out", async () => {
    await using stepped = await clockMachine();
    const { machine, step } = stepped;
    const { user } = machine;
    await machine.ready();
    const job = await deploy(machine, 600, 10);
    await until(() => (machine.agentLog().includes(job.id) ? true : undefined));
    step(by);
    expect(await user.released(job)).toMatchObject({
      status: "FAILED",
      error_message: expect.stringMatching(/^timed out after 10 s/),
    });
  });
});
