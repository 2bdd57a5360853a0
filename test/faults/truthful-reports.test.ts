/** The reports of jobs that fail or print a lot, with a real agent and control plane. */
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fixtureFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { type User } from "../helpers/people/user.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();
let machine: UserMachine;
let user: User;
beforeAll(async () => {
  machine = await userMachine(plane, { agent: true });
  ({ user } = machine);
});
afterAll(() => machine[Symbol.asyncDispose]());

/** Runs a job of a fixture to its end. */
async function run(job_type: "PLAN" | "DEPLOY", fixture: string, variables = {}) {
  const source = { type: "inline", files: fixtureFiles(fixture) };
  const configuration_id = await user.configure({ source, variables });
  const job = await user.queue({ job_type, configuration_id });
  return user.released(job);
}

test("a log of 100,000 lines with control characters is complete and in order", async () => {
  const lines = 100_000;
  const job = await run("DEPLOY", "chatty", { lines: { value: lines } });
  expect(job).toMatchObject({ status: "SUCCESS", log_complete: true, error_message: null });
  const log = await user.log(job);
  // Terraform prints a partial line when the rest takes over 100 ms to arrive (measured), so the
  // parts are joined. On a busy machine its own progress line may stand between them.
  const output = stripVTControlCharacters(log)
    .replaceAll(/\n[\w.]+: Still creating\.\.\. \[[^\]]*\]/g, "")
    .replaceAll(/\n[\w.]+ \(local-exec\): /g, "");
  const numbers = Array.from(output.matchAll(/line (\d{7}) the quick brown fox/g), ([, n]) =>
    Number(n),
  );
  expect(numbers).toEqual(Array.from({ length: lines }, (_, index) => index + 1));
  expect(log).toContain("\u001b[31mred\u001b[0m plain");
  expect(log).toContain("bad utf8: \ufffd\ufffd");
  expect(log).toContain("nul: [\u0000]");
  expect(log).toContain("emoji: 🚀");
  expect(log).toContain("x".repeat(60_000));
  expect(log).toContain("no newline at the end");
  expect(log).toContain("Apply complete! Resources: 1 added");
});

test("a failing plan is FAILED with the error of terraform", async () => {
  const job = await run("PLAN", "fail-plan");
  expect(job).toMatchObject({ status: "FAILED", log_complete: true });
  expect(job.error_message).toContain("Resource precondition failed");
  expect(await user.log(job, "STDERR")).toContain(
    "the cluster name must be longer than 99 characters",
  );
});

test("an apply that fails half way is FAILED with the error, and has its log and a partial state", async () => {
  const job = await run("DEPLOY", "fail-apply-half");
  expect(job).toMatchObject({ status: "FAILED", log_complete: true, execution_metadata: null });
  expect(job.error_message).toMatch(/exit status 7/);
  expect(await user.log(job)).toContain("terraform_data.before[2]: Creation complete");
  expect(await user.log(job, "STDERR")).toContain("local-exec provisioner error");
  const versions = await plane.context.store.read.sql
    .selectFrom("state_versions")
    .select("resources")
    .where("spec_id", "=", job.spec_id)
    .orderBy("id", "desc")
    .execute();
  // `before` (three instances of one resource) and the tainted `boom`; `after` was never reached.
  expect(versions[0]?.resources).toBeGreaterThanOrEqual(2);
});
