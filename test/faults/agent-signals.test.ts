/** The signals that stop an agent, and agents that end or wait by themselves. */
import { describe, expect, test } from "vitest";
import { addUser } from "../helpers/people/user.ts";
import { testProgram } from "../helpers/agent/engines.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { scratch, startAgent, until } from "../helpers/agent/agent-process.ts";
import { inlineFixture } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { isolationForHeldApply, startHeldApply } from "../helpers/agent/held-apply.ts";
import { stubbornTerraform } from "../helpers/agent/terraform.ts";
import { join } from "node:path";

const { plane } = planeForFile();

const machineWithAgent = (settings: Record<string, string> = {}) =>
  userMachine(plane, { agent: settings });

describe.concurrent("an agent", () => {
  test("exits at once on a third signal, and the next agent adopts its terraform", async () => {
    await using machine = await userMachine(plane, {
      agent: (place) => ({
        ...isolationForHeldApply,
        PATH: stubbornTerraform(join(place, "bin")),
      }),
    });
    const { user, agent, work } = machine;
    const { job, finish } = await startHeldApply(machine);
    agent.kill("SIGTERM");
    await until(() => agent.log().includes("no new jobs"));
    agent.kill("SIGTERM");
    await until(() => agent.log().includes("cancelling the running jobs"));
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(1);
    expect(processesOf(work).some((line) => line.includes(`${testProgram} apply`))).toBe(true);
    machine.restart();
    finish();
    // The apply completed, so the job succeeds.
    const end = await user.released(job);
    expect(end.error_message).toBeNull();
    expect(end).toMatchObject({ status: "SUCCESS", attempt: 1 });
  });

  test("with WINDLASS_ONCE=1 ends with 0 after one job, also a failed one, and its ephemeral worker is gone", async () => {
    const user = await addUser(plane);
    const configuration_id = await user.configure({ source: inlineFixture("fail-plan") });
    const job = await user.queue({ job_type: "PLAN", configuration_id });
    const { registration_token } = await user.client.call("createRegistrationToken", {
      body: { ephemeral: true, uses: 2 },
    });
    const run = async (more: Record<string, string> = {}) => {
      using work = scratch();
      await using agent = startAgent({
        WINDLASS_URL: plane.url,
        WINDLASS_WORK_DIR: work.path,
        WINDLASS_REGISTRATION_TOKEN: registration_token,
        WINDLASS_ONCE: "1",
        ...more,
      });
      expect(await agent.exited).toBe(0);
      expect(await user.client.call("listWorkers")).toMatchObject({ workers: [] });
      return agent.log();
    };
    await run();
    expect(await user.read(job)).toMatchObject({ status: "FAILED", log_complete: true });
    // The time includes the registration, which takes seconds on a busy machine.
    expect(await run({ WINDLASS_ONCE_WAIT_SECONDS: "15" })).toContain(
      "no job came: WINDLASS_ONCE_WAIT_SECONDS=15 has passed",
    );
  });

  test("with WINDLASS_ONCE=1 fails if it cannot register in time", async () => {
    using work = scratch();
    await using agent = startAgent({
      WINDLASS_URL: "http://127.0.0.1:9",
      WINDLASS_WORK_DIR: work.path,
      WINDLASS_REGISTRATION_TOKEN: "wlr_x",
      WINDLASS_ONCE: "1",
      WINDLASS_ONCE_WAIT_SECONDS: "1",
    });
    expect(await agent.exited).toBe(1);
    expect(agent.log()).toContain("not registered: WINDLASS_ONCE_WAIT_SECONDS=1 has passed");
  });

  test("waits while another agent uses its identity", async () => {
    await using machine = await machineWithAgent();
    const { agent } = machine;
    await until(() => agent.log().includes("ready for jobs"));
    const { workerId, workerToken } = await machine.identity();
    using elsewhere = scratch();
    await using twin = startAgent({
      WINDLASS_URL: plane.url,
      WINDLASS_WORK_DIR: elsewhere.path,
      WINDLASS_WORKER_ID: workerId,
      WINDLASS_WORKER_TOKEN: workerToken,
    });
    await until(() => twin.log().includes("another agent uses this identity"));
    expect(twin.log()).not.toContain("ready for jobs");
  });
});
