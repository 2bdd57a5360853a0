/** A hostile configuration that collects every secret it can read, at every working level. */
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Level } from "../../agent/job/isolation/isolation.ts";
import { startAgent, until, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { inlineSnapshot } from "../helpers/agent/fixtures.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
  ended,
} from "../helpers/agent/interface-only-server.ts";
import { proving } from "../helpers/project/proving.ts";
import { levelsHere, skipAbsentLevels } from "../helpers/agent/isolation.ts";
import { startPlane } from "../helpers/plane/plane.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { bearer } from "../helpers/people/sign-in.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const { working, lacking } = await levelsHere();
skipAbsentLevels(lacking);
const strongest = working.at(-1) ?? "process";
/** The levels, besides the default one, that keep secrets from jobs. */
const protective = working.filter(
  (level) => level !== "process" && (proving || level !== strongest),
);

let server: InterfaceOnlyServer;
const place = folderForFile();
beforeAll(async () => {
  server = await startInterfaceOnlyServer(`CANARY_${randomUUID()}`);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const settingsFor = (workDir: string, level?: Level, more = {}) => ({
  ...server.settings,
  WINDLASS_WORK_DIR: workDir,
  ...(level ? { WINDLASS_ISOLATION: level } : {}),
  ...more,
});
const inline = (terraform: string, more = {}) => ({
  source: { type: "inline", files: { "main.tf": terraform } },
  ...more,
});
const stopped = async (agent: AgentProcess): Promise<void> => {
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
};

/** An apply of two seconds that prints the names in its environment and ten ticks. */
const ticking = `
  resource "terraform_data" "slow" {
    provisioner "local-exec" {
      command = "echo names=$(env | cut -d= -f1 | tr '\\n' ,); for i in 1 2 3 4 5 6 7 8 9 10; do echo tick-$i-; sleep 0.2; done"
    }
  }
  output "cluster_name" { value = "survivor" }`;

const awsSecret = `CANARY_aws-${randomUUID()}`;

/** Runs the hostile job beside another job, on an agent with secrets in every place. */
async function attacked(level: Level | undefined): Promise<{ report: string; log: string }> {
  const name = level ?? "default";
  const [work, home] = [join(place, `rob-${name}`), join(place, `home-${name}`)];
  for (const folder of [work, join(home, ".aws")]) mkdirSync(folder, { recursive: true });
  chmodSync(home, 0o700);
  writeFileSync(join(home, ".aws", "credentials"), "key = CANARY_home\n", { mode: 0o600 });
  writeFileSync(join(work, "identity.json"), "CANARY_identity", { mode: 0o600 });
  const settings = {
    HOME: home,
    SOME_SECRET: "CANARY_environment",
    AWS_ACCESS_KEY_ID: "AKIAOFTHEAGENT",
    AWS_SECRET_ACCESS_KEY: awsSecret,
    AWS_SESSION_TOKEN: `${awsSecret}-session`,
    WINDLASS_CONCURRENCY: "2",
  };
  await using agent = startAgent(settingsFor(work, level, settings));
  const victim = server.enqueue({
    job_type: "DEPLOY",
    config_snapshot: inline(
      `variable "password" {}
       resource "terraform_data" "victim" {
         triggers_replace = var.password
         provisioner "local-exec" {
           quiet   = true
           command = "echo started; for i in $(seq 2400); do [ -e stop ] || sleep 0.1; done"
           environment = { OF_PROVISIONER = var.password }
         }
       }`,
      {
        variables: { password: { value: "CANARY_variable", sensitive: true } },
        environment: { OF_VICTIM: "CANARY_of-another-job" },
      },
    ),
  });
  await until(() => server.log(victim, "STDOUT").includes("Creating..."));
  const jobs = readdirSync(join(work, "workspaces"));
  const thief = server.enqueue({
    job_type: "DEPLOY",
    config_snapshot: inlineSnapshot("hostile-environ", {
      variables: {
        probe_files: {
          value: [
            work,
            home,
            join(work, "identity.json"),
            join(home, ".aws", "credentials"),
            ...jobs.flatMap((id) => [
              join(work, "jobs", id, "journal.ndjson"),
              join(work, "workspaces", id, "job.tfvars.json"),
              join(work, "workspaces", id, "source", "main.tf"),
              join(work, "workspaces", id),
            ]),
          ],
        },
        probe_write: { value: ["/etc/windlass-planted"] },
        daemon_seconds: { value: 300 },
      },
    }),
  });
  await ended(thief);
  const [report = ""] = /HOSTILE-REPORT.*/.exec(server.log(thief, "STDOUT")) ?? [];
  expect(report).not.toBe("");
  const environment = readFileSync(`/proc/${agent.pid}/environ`, "latin1");
  for (const secret of [server.workerToken, awsSecret, `${awsSecret}-session`])
    expect(environment).not.toContain(secret);
  // Its daemon is dead before its end is reported.
  expect(processesOf(join(work, "workspaces", thief.id))).toEqual([]);
  // The other job is not affected.
  writeFileSync(join(work, "workspaces", victim.id, "source", "stop"), "");
  expect((await ended(victim)).status).toBe("SUCCESS");
  await stopped(agent);
  return { report, log: agent.log() };
}

describe("a hostile configuration", () => {
  test("finds no secret at the default isolation level", async (context) => {
    if (strongest === "process") return context.skip("no other level works here");
    const { report } = await attacked(undefined);
    expect(report).toMatch(/ leaked=0 where=\[ \]$/);
    expect(report).toMatch(/^HOSTILE-REPORT uid=\d+ caps=0+ /);
  });

  test.each(protective)("finds no secret at isolation level %s", async (level) => {
    const { report } = await attacked(level);
    expect(report).toMatch(/ leaked=0 where=\[ \]$/);
  });

  test("has no secret in its environment at level process", async () => {
    const { report } = await attacked("process");
    expect(report).not.toContain("own-environment");
    expect(report).not.toContain("cmdline-of");
    // Other places are readable at this level, as docs/isolation.md says, and the fixture finds
    // them.
    expect(report).not.toMatch(/ leaked=0 /);
  });
});

describe.each(working)("at level %s", (level) => {
  test("an apply survives the kill -9 of its agent and is adopted, and its log names the level", async () => {
    const work = join(place, `adopt-${level}`);
    const first = startAgent(settingsFor(work, level));
    const job = server.enqueue({ job_type: "DEPLOY", config_snapshot: inline(ticking) });
    await until(() => server.log(job, "STDOUT").includes("tick-2-"));
    first.kill("SIGKILL");
    await first.exited;
    await using second = startAgent(settingsFor(work, level));
    await ended(job);
    expect(job.reports.at(-1)).toMatchObject({
      status: "SUCCESS",
      execution_metadata: { cluster_name: "survivor" },
    });
    expect(job.claims).toBe(1);
    const log = server.log(job, "STDOUT");
    // The server knows no `seq`, so it may have a chunk twice.
    const ticks = Array.from(log.matchAll(/tick-(\d+)-/g), ([, tick]) => Number(tick));
    expect([...new Set(ticks)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(log.match(/Apply complete! Resources: 1 added/g)).toHaveLength(1);
    // Programs of a provisioner keep Go's default. WINDLASS_JOB marks the processes of a job.
    const [names = ""] = /names=\S*\bPATH\b\S*/.exec(log) ?? [];
    expect(names).toMatch(/\bPATH\b/);
    expect(names).not.toMatch(/GOGC|WINDLASS_(?!JOB\b)/);
    const [firstLine] = server.log(job, "SYSTEM").split("\n");
    expect(firstLine).toMatch(new RegExp(`^Windlass agent .*, isolation ${level}$`));
    expect(server.heartbeats.at(-1)).toMatchObject({ isolation: level });
    await until(() => readdirSync(join(work, "workspaces")).length === 0);
    await stopped(second);
  });

  test("a stop sends one interrupt to terraform and leaves nothing of the job", async () => {
    const work = join(place, `stop-${level}`);
    await using agent = startAgent(settingsFor(work, level));
    const job = server.enqueue({
      job_type: "DEPLOY",
      config_snapshot: inlineSnapshot("long-running", { variables: { seconds: { value: 60 } } }),
    });
    await until(() => server.log(job, "STDOUT").includes("tick 1"));
    agent.kill("SIGTERM");
    await until(() => agent.log().includes("no new jobs"));
    agent.kill("SIGTERM");
    await ended(job);
    expect(job.status).toBe("CANCELLED");
    expect(server.log(job, "STDOUT")).toContain("Interrupt received");
    expect(server.log(job, "STDOUT")).not.toContain("Two interrupts received");
    // The agent's own process that removes the directory may still run for a moment.
    await expect.poll(() => processesOf(join(work, "workspaces"))).toEqual([]);
    expect(await agent.exited).toBe(0);
    expect(readdirSync(join(work, "workspaces"))).toEqual([]);
  });
});

test("a cloud-hosted worker refuses to run jobs at level process", async () => {
  const secret = "release-secret-of-this-test-32-bytes-long";
  const plane = await startPlane({ RELEASE_API_SECRET: secret });
  try {
    const { worker_id, worker_token } = await callsOf(plane, bearer(secret)).call(
      "registerCloudWorker",
      { body: { name: "cloud" } },
    );
    await using agent = startAgent({
      ...settingsFor(join(place, "cloud"), "process"),
      WINDLASS_URL: plane.url,
      WINDLASS_WORKER_ID: worker_id,
      WINDLASS_WORKER_TOKEN: worker_token,
    });
    expect(await agent.exited).toBe(78);
    expect(agent.log()).toContain(
      "the runner of a cloud-hosted worker runs jobs of all users and refuses",
    );
  } finally {
    await plane.close();
  }
});

describe("a chosen level that does not work", () => {
  test("ends the agent with 78 and one line that says what is missing", async () => {
    const work = join(place, "asked");
    await using agent = startAgent(settingsFor(work, "container"));
    expect(await agent.exited).toBe(78);
    expect(agent.log()).toBe(
      "windlass agent: WINDLASS_ISOLATION=container does not work here: WINDLASS_CONTAINER_IMAGE is not set: set it to the image in which jobs run\n",
    );
  });
});
