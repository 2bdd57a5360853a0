/** Cloud identities with a real server, agent and terraform, a strict STS and S3. */
import { readFileSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { testProgram } from "../helpers/agent/engines.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { lackOfS3 } from "../helpers/store/s3-server.ts";
import { startStrictS3 } from "./strict-s3.ts";
import { skipAt } from "../helpers/project/tools.ts";
import { caller } from "../helpers/agent/strict-sts.ts";
import {
  deploy,
  endpointOf,
  journalOf,
  openCloudFixture,
  role_arn,
  running,
  type CloudFixture as Fixture,
} from "./cloud-fixture.ts";

const { plane } = planeForFile();
const openFixture = (settings: Record<string, string> = {}) =>
  openCloudFixture(plane, { settings });

/** A strict S3 bucket, and a backend block that keeps the state in it. */
async function inS3({ sts }: Fixture) {
  const s3 = await startStrictS3(sts, "states");
  const key = "team/terraform.tfstate";
  const backend = `terraform {
    backend "s3" {
      bucket         = "states"
      key            = "${key}"
      use_lockfile   = true
      use_path_style = true
      endpoints      = { s3 = "${s3.url}" }
    }
  }`;
  return { ...s3, backend, state: () => s3.read("states", key) };
}

/** Waits until the command of the job printed the text; terraform prints the command before it. */
async function says({ user }: Fixture, job: Job, text: string): Promise<void> {
  const line = `(local-exec): ${text}\n`;
  while (!stripVTControlCharacters(await user.log(job)).includes(line)) await sleep(50);
}

/** The AWS variables in the environment of the terraform that applies. */
function cloudEnvironmentOf({ work }: Fixture, { id }: Job): Record<string, string> {
  const [pid = ""] = readFileSync(join(work, "jobs", id, "runs/08-apply/child"), "utf8").split(" ");
  const terraform = terraformIn(pid);
  const variables = readFileSync(`/proc/${terraform}/environ`, "utf8").split("\0");
  return Object.fromEntries(
    variables
      .filter((one) => one.startsWith("AWS_"))
      .map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]),
  );
}

/** The pid of terraform: this process or one below it, as a sandbox has processes in between. */
function terraformIn(pid: string): string | undefined {
  if (readlinkSync(`/proc/${pid}/exe`).endsWith(`/${testProgram}`)) return pid;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
  return children
    .filter(Boolean)
    .map(terraformIn)
    .find((found) => found !== undefined);
}

/** The files that contain the text. */
function filesWith({ work }: Fixture, text: string): string[] {
  return readdirSync(work, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => readFileSync(file).includes(text));
}

const secretsIn = ({ sts }: Fixture): string[] =>
  sts.given.flatMap((one) => [one.accessKeyId, one.secretAccessKey, one.sessionToken]);

const wholeLog = async ({ user }: Fixture, job: Job): Promise<string> =>
  (await user.log(job, "SYSTEM")) + (await user.log(job)) + (await user.log(job, "STDERR"));

describe.concurrent("a job", () => {
  test("with a cloud identity runs as a session of the role, is FAILED when AWS refuses the role, and can be cancelled while STS is silent", async () => {
    await using here = await openFixture();
    const { sts, identity } = here;
    const given = await deploy(here, running("true"));
    expect(await here.user.released(given)).toMatchObject({ status: "SUCCESS" });
    expect(sts.asked).toEqual([
      {
        action: "AssumeRole",
        role: role_arn,
        externalId: identity.external_id,
        session: given.id,
        tags: {
          "windlass:job": given.id,
          "windlass:spec": given.spec_id,
          "windlass:zone": given.zone_id,
        },
        answer: "given",
      },
    ]);
    expect(await here.user.log(given, "SYSTEM")).toContain(`Cloud identity: ${role_arn}`);

    const [mayAssume, mayTag] = sts.roles.get(role_arn)?.Statement ?? [];
    if (!mayAssume || !mayTag) throw new Error("the policy has two statements");
    const other = { StringEquals: { "sts:ExternalId": "00000000-0000-0000-0000-000000000000" } };
    for (const [action, Statement] of [
      ["sts:AssumeRole", [{ ...mayAssume, Condition: other }, mayTag]],
      ["sts:TagSession", [mayAssume]],
    ] as const) {
      sts.asked.length = 0;
      sts.roles.set(role_arn, { Version: "2012-10-17", Statement: [...Statement] });
      const refused = await deploy(here, running("true"));
      const end = await here.user.released(refused);
      expect(end.status).toBe("FAILED");
      expect(end.error_message).toContain(
        `AWS refused the role ${role_arn} with the external id ${identity.external_id}: ` +
          `AccessDenied: User: ${caller.arn} is not authorized to perform: ${action} on resource: ${role_arn}. `,
      );
      expect(end.error_message).toContain("trust policy");
      expect(await here.user.log(refused)).toBe("");
      expect(sts.asked).toHaveLength(1);
    }

    sts.asked.length = 0;
    sts.trouble = "silent";
    const unanswered = await deploy(here, running("true"));
    await until(() => sts.asked.length > 0);
    const asked = performance.now();
    await here.user.client.call("cancelJob", { params: { id: unanswered.id } });
    expect(await here.user.released(unanswered)).toMatchObject({
      status: "CANCELLED",
      error_message: "cancelled during credentials",
    });
    expect(performance.now() - asked).toBeLessThan(4000);
  });

  test("with a cloud identity has no credentials in its environment, its files or its log, even if it prints them", async () => {
    await using here = await openFixture();
    const ask =
      'curl -s -H "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" $AWS_CONTAINER_CREDENTIALS_FULL_URI';
    // The command keeps the credentials in memory and prints them after the agent was restarted.
    const command = `kept=$(${ask}); env | grep AWS_; echo waiting; sleep 5; echo $kept; ${ask} | base64 -w0`;
    const job = await deploy(here, running(command));
    await says(here, job, "waiting");
    const { port, token } = endpointOf(here, job);
    expect(cloudEnvironmentOf(here, job)).toEqual({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${port}/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
      AWS_EC2_METADATA_DISABLED: "true",
      AWS_ENDPOINT_URL_STS: here.sts.url,
      AWS_REGION: "eu-central-1",
    });
    expect(here.sts.given).toHaveLength(1);
    for (const secret of secretsIn(here)) expect(filesWith(here, secret)).toEqual([]);
    // The next agent needs the token, and the job has just printed it. Both files are removed with
    // the job.
    const raw = join(here.work, "jobs", job.id, "runs/08-apply/stdout");
    expect(filesWith(here, token).toSorted()).toEqual([journalOf(here, job), raw]);
    for (const file of [journalOf(here, job), raw]) expect(statSync(file).mode & 0o077).toBe(0);
    here.owner.agent.kill("SIGKILL");
    await here.owner.agent.exited;
    here.owner.restart();
    expect(await here.user.released(job)).toMatchObject({ status: "SUCCESS", log_complete: true });
    const log = await wholeLog(here, job);
    expect(log).toContain("AWS_CONTAINER_AUTHORIZATION_TOKEN=***");
    // The credentials of the first agent in plain text; the second agent requested its own.
    expect(log.match(/"?SecretAccessKey"?: ?"?\*\*\*/g)).toHaveLength(1);
    expect(here.sts.given).toHaveLength(2);
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = caller.environment;
    for (const secret of [...secretsIn(here), token, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY]) {
      const encoded = Buffer.from(`"${secret}"`).toString("base64").slice(4, -8);
      for (const form of [secret, encoded]) {
        expect(log).not.toContain(form);
        expect(here.owner.agentLog()).not.toContain(form);
      }
    }
    await until(() => readdirSync(join(here.work, "jobs")).length === 0);
    expect(filesWith(here, token)).toEqual([]);
  });

  describe("with a cloud identity and a state in S3", () => {
    skipAt(lackOfS3);

    test("saves its state after an apply that outlasts its first credentials", async () => {
      await using here = await openFixture();
      await using s3 = await inS3(here);
      here.sts.life = 12;
      const job = await deploy(here, running("sleep 15", s3.backend), { backend: "own" });
      expect(await here.user.released(job)).toMatchObject({ status: "SUCCESS" });
      expect(s3.refused).toEqual([]);
      expect(s3.used.length).toBeGreaterThanOrEqual(2);
      expect(await s3.state()).toContain("terraform_data");
    });

    test("that gets roles by tokens of its own plans with one role and saves its state with another", async () => {
      await using here = await openFixture();
      await using s3 = await inS3(here);
      const { sts, user } = here;
      const audience = "sts.amazonaws.com";
      const plan_role_arn = role_arn.replace("deployer", "planner");
      const arns = { plan: plan_role_arn, apply: role_arn };
      for (const [phase, arn] of Object.entries(arns)) {
        const subject = `person:*:zone:*:configuration:*:phase:${phase}`;
        sts.trusts.set(arn, { issuer: plane.url, audience, subject });
      }
      const identity = await user.client.call("createCloudIdentity", {
        body: { name: "by token", provider: "aws_web_identity", role_arn, plan_role_arn },
      });
      const fields = { backend: "own", cloud_identity_id: identity.id };
      const job = await deploy(here, running("true", s3.backend), fields);
      expect(await user.released(job)).toMatchObject({ status: "SUCCESS" });
      // The backend asks who it is, too.
      const assumed = sts.asked.filter(({ action }) => action.startsWith("AssumeRole"));
      expect(assumed.map(({ action, role, answer }) => [action, role, answer])).toEqual([
        ["AssumeRoleWithWebIdentity", plan_role_arn, "given"],
        ["AssumeRoleWithWebIdentity", role_arn, "given"],
      ]);
      expect(s3.used).toEqual([0, 1]);
      expect(s3.refused).toEqual([]);
      expect(await s3.state()).toContain("terraform_data");
    });

    test("has the reason for missing credentials in its error message", async () => {
      await using here = await openFixture();
      await using s3 = await inS3(here);
      here.sts.life = 0.2;
      const job = await deploy(here, running("true", s3.backend), { backend: "own" });
      await until(() => here.sts.given.length > 0);
      here.sts.trouble = "down";
      const end = await here.user.released(job);
      expect(end).toMatchObject({ status: "FAILED" });
      expect(end.error_message).toMatch(/the agent has no credentials: /);
      expect(await here.user.log(job, "SYSTEM")).toContain(
        "STS returns no credentials; trying again",
      );
    });
  });

  test("without a cloud identity gets no credentials of the agent or its machine", async () => {
    await using here = await openFixture({
      AWS_SESSION_TOKEN: "planted-session",
      AWS_PROFILE: "admin",
    });
    const source = running("echo applying; sleep 2");
    const configuration_id = await here.user.configure({ source });
    const job = await here.user.queue({ job_type: "DEPLOY", configuration_id });
    await says(here, job, "applying");
    expect(cloudEnvironmentOf(here, job)).toEqual({ AWS_EC2_METADATA_DISABLED: "true" });
    expect(await here.user.released(job)).toMatchObject({ status: "SUCCESS" });
    expect(here.sts.asked).toEqual([]);
  });
});
