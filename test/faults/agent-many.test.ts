/** Four concurrent jobs of one agent, which must not affect each other. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { isApply } from "../helpers/agent/engines.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";

const { plane } = planeForFile();

/** Prints its user and directories, and counts until the file `go` exists. */
const configuration = `
  variable "name" {}
  variable "secret" { sensitive = true }
  resource "terraform_data" "one" {
    provisioner "local-exec" {
      quiet   = true
      command = <<-EOT
        echo "I am $(id -u) in $PWD as \${var.name}, at home in $HOME, of job $TF_HTTP_USERNAME"
        i=0; while [ ! -e go ]; do i=$((i + 1)); echo "tick $i"; sleep 0.05; done
        echo "last $i"
      EOT
    }
  }
  output "cluster_name" { value = var.name }
  output "secret" {
    value     = var.secret
    sensitive = true
  }`;

test("four concurrent jobs have their own workspace, user, state and log; one is cancelled, one killed, and a drain waits for the rest", async () => {
  await using owner = await userMachine(plane, { agent: { WINDLASS_CONCURRENCY: "4" } });
  const { user, work, agent } = owner;
  const names = ["first", "second", "third", "fourth"];
  const jobs = await Promise.all(
    names.map(async (name) => {
      const configuration_id = await user.configure({
        source: { type: "inline", files: { "main.tf": configuration } },
        variables: {
          name: { value: name },
          secret: { value: `secret-of-${name}`, sensitive: true },
        },
      });
      return user.queue({ job_type: "DEPLOY", configuration_id });
    }),
  );
  const [first, second, third, fourth] = jobs as [Job, Job, Job, Job];
  const stdout = ({ id }: Job): string => {
    const path = join(work, "jobs", id, "runs", "08-apply", "stdout");
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };
  await until(() => jobs.every((job) => stdout(job).includes("tick 3")));
  const who = jobs.map(
    (job) => /I am (\d+) in (\S+) as (\w+), at home in (\S+), of job (\S+)/.exec(stdout(job)) ?? [],
  );
  expect(who.map(([, , , name]) => name)).toEqual(names);
  for (const [field, isOwn] of [
    [2, true],
    [4, true],
    [5, true],
    [1, process.getuid?.() === 0],
  ] as const)
    expect(new Set(who.map((found) => found[field])).size).toBe(isOwn ? 4 : 1);

  const fifth = await user.queue({ job_type: "PLAN", configuration_id: first.spec_id ?? "" });
  await user.client.call("cancelJob", { params: { id: first.id } });
  expect(await user.released(first)).toMatchObject({ status: "CANCELLED", log_complete: true });
  for (const pid of applyOf(join(work, "workspaces", second.id))) process.kill(pid, "SIGKILL");
  const killed = await user.released(second);
  // What it has changed since it last saved its state is in no state, so the lock stays.
  expect(killed).toMatchObject({ status: "FAILED", log_complete: true, outcome_unknown: true });
  expect(killed.error_message).toContain("apply: it was killed (exit code 137), by a person");
  // The fifth job took the free slot while two jobs continued.
  expect(await user.released(fifth)).toMatchObject({ status: "SUCCESS" });

  agent.kill("SIGTERM");
  await until(() => agent.log().includes("no new jobs"));
  const later = await user.queue({ job_type: "PLAN", configuration_id: first.spec_id ?? "" });
  go(work, third);
  expect(await user.released(third)).toMatchObject({ status: "SUCCESS", log_complete: true });
  const ticks = stdout(fourth).match(/tick/g)?.length ?? 0;
  await until(() => (stdout(fourth).match(/tick/g)?.length ?? 0) > ticks + 3);
  go(work, fourth);
  expect(await agent.exited).toBe(0);
  for (const [job, name] of [
    [third, "third"],
    [fourth, "fourth"],
  ] as const) {
    expect(await user.read(job)).toMatchObject({
      status: "SUCCESS",
      execution_metadata: { cluster_name: name },
    });
    await inOrder(job);
  }
  await Promise.all([inOrder(first), inOrder(second)]);
  // A job that the agent claimed while it ended is queued again when the worker is offline.
  await expect.poll(async () => (await user.read(later)).status).toBe("QUEUED");
  expect([readdirSync(join(work, "jobs")), readdirSync(join(work, "workspaces"))]).toEqual([
    [],
    [],
  ]);

  /** Expects every tick once and in order, and none of another job. */
  async function inOrder(job: Job): Promise<void> {
    const log = await user.log(job);
    const seen = Array.from(log.matchAll(/tick (\d+)/g), ([, tick]) => Number(tick));
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => index + 1));
    expect(log.match(/I am /g)).toHaveLength(1);
    expect(log).toContain(`of job ${job.id}`);
  }
});

/** The pids of terraform itself, without the wrapper or a sandbox around it. */
const applyOf = (workspace: string): number[] =>
  processesOf(workspace)
    .filter(isApply)
    .map((line) => Number.parseInt(line, 10));

/** Lets the job's command end. */
const go = (work: string, { id }: Job): void =>
  writeFileSync(join(work, "workspaces", id, "source", "go"), "");
