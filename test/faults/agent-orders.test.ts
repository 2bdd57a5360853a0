/**
 * Draining a worker and cancelling a job before its apply, with an agent that has the default
 * intervals (agent-cancel.test.ts has cancels during an apply). The agent must react within two
 * seconds, which WINDLASS_PROVE=1 asserts and prints.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { heldTerraform } from "../helpers/agent/held-terraform.ts";
import { faultProxy } from "../helpers/network/fault-proxy.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { proving } from "../helpers/project/proving.ts";

/** Milliseconds. Other tests run at the same time unless WINDLASS_PROVE=1 is set. */
const bound = proving ? 2000 : 10_000;

const { plane } = planeForFile();
const figures: string[] = [];
afterAll(async () => {
  if (proving) process.stdout.write(`${figures.join("\n")}\n`);
});

function expectReaction(order: string, since: number): void {
  const milliseconds = performance.now() - since;
  figures.push(`${order}: after ${Math.round(milliseconds)} ms`);
  expect(milliseconds).toBeLessThan(bound);
}

/** A user whose agent has the default intervals, behind a proxy, with a terraform to hold. */
async function machineBehindProxy() {
  const proxy = await faultProxy(plane.url);
  let terraform: ReturnType<typeof heldTerraform> | undefined;
  const owner = await userMachine(plane, {
    agent: (place) => {
      terraform = heldTerraform(join(place, "bin"));
      return {
        WINDLASS_URL: proxy.url,
        WINDLASS_HEARTBEAT_SECONDS: "30",
        PATH: terraform.path,
        // The script that holds terraform ignores SIGINT.
        WINDLASS_INIT_GRACE_SECONDS: "0.3",
        WINDLASS_PLAN_GRACE_SECONDS: "0.3",
        WINDLASS_KILL_GRACE_SECONDS: "0.3",
        // A sandbox would hide the script.
        WINDLASS_ISOLATION: process.getuid?.() === 0 ? "uid" : "process",
      };
    },
  });
  const claims: { at: number; status: number }[] = [];
  let asked = 0;
  proxy.onRequest = ({ path }) => {
    if (path.endsWith("/claim")) asked++;
    return true;
  };
  proxy.onAnswer = ({ path }, status) => {
    if (path.endsWith("/claim")) claims.push({ at: performance.now(), status });
    return true;
  };
  await owner.ready();
  // Its claim waits at the server.
  await until(() => asked > claims.length);
  const { workerId } = await owner.identity();
  return {
    owner,
    user: owner.user,
    terraform: terraform as ReturnType<typeof heldTerraform>,
    claims,
    params: { id: workerId },
    [Symbol.asyncDispose]: async () => {
      await owner[Symbol.asyncDispose]();
      await proxy.close();
    },
  };
}

const source = {
  type: "inline",
  files: { "main.tf": 'resource "terraform_data" "one" {}\n' },
};

describe.concurrent("an agent", () => {
  test("that is drained ends its waiting claim, finishes its job, and gets no other until the drain ends", async () => {
    await using one = await machineBehindProxy();
    const { user, claims, terraform, params } = one;
    const queue = async () => {
      const configuration_id = await user.configure({ source });
      return user.queue({ job_type: "PLAN", configuration_id });
    };
    const given = () => claims.filter(({ status }) => status === 200).length;
    /** The agent continues to send claims, so that it notices the end of the drain. */
    const claimsAreEmpty = async () => {
      const { length } = claims;
      await until(() => claims.length >= length + 2);
      expect(claims.slice(length).every(({ status }) => status === 204)).toBe(true);
    };

    const asked = performance.now();
    const { status } = await user.client.call("drainWorker", { params });
    expect(status).toBe("DRAINING");
    await until(() => claims.length > 0);
    expectReaction("drained: its waiting claim has ended", asked);
    const first = await queue();
    await claimsAreEmpty();
    expect(await user.read(first)).toMatchObject({ status: "QUEUED", worker_id: null });
    const held = terraform.hold("begin-plan");
    await user.client.call("undrainWorker", { params });

    await held.reached;
    const second = await queue();
    await user.client.call("drainWorker", { params });
    held.letGo();
    expect(await user.released(first)).toMatchObject({ status: "SUCCESS", log_complete: true });
    await claimsAreEmpty();
    expect(given()).toBe(1);
    expect(await user.read(second)).toMatchObject({ status: "QUEUED", worker_id: null });
    await user.client.call("undrainWorker", { params });
    expect(await user.released(second)).toMatchObject({ status: "SUCCESS" });
  });

  test("ends a job that is cancelled before its apply, during any step, and leaves no lock and no process", async () => {
    await using one = await machineBehindProxy();
    const { user, owner, terraform } = one;
    for (const [point, step] of [
      ["begin-version", "engine"],
      ["begin-init", "init"],
      ["begin-plan", "plan"],
    ] as const) {
      const held = terraform.hold(point);
      const configuration_id = await user.configure({ source });
      const job = await user.queue({ job_type: "DEPLOY", configuration_id });
      const journal = join(owner.work, "jobs", job.id, "journal.ndjson");
      await held.reached;
      const asked = performance.now();
      await user.client.call("cancelJob", { params: { id: job.id } });
      // The stop sequence has begun.
      await until(() => readFileSync(journal, "utf8").includes('"stopping"'));
      expectReaction(`cancelled during ${step}`, asked);
      const end = await user.released(job);
      expect(end).toMatchObject({ status: "CANCELLED", log_complete: true });
      expect(end.error_message).toContain(`cancelled during ${step}`);
      expect(processesOf(join(owner.work, "workspaces", job.id))).toEqual([]);
      const locks = plane.context.store.read.sql.selectFrom("state_locks").selectAll();
      expect(await locks.where("job_id", "=", job.id).execute()).toEqual([]);
      held.letGo();
    }
    expect(terraform.ran()).not.toContain("apply");
  });
});
