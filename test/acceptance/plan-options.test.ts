/** Plans with options, by the client, with a real runner, terraform and (as a script) OpenTofu. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { fixtureFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { testEngine } from "../helpers/agent/engines.ts";
import { bothEngines, testEngines } from "../helpers/agent/terraform.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();
let machine: UserMachine;
beforeAll(async () => {
  machine = await userMachine(plane, { agent: bothEngines });
});
afterAll(() => machine[Symbol.asyncDispose]());

const jobs = (...words: string[]) => machine.run("jobs", ...words);
const read = (name: string) => machine.json<Configuration>("configurations", "show", name);

describe.concurrent.each(testEngines)("plans with %s", (engine) => {
  test("are limited, replace, refresh and destroy as asked, and their DEPLOY does the same", async () => {
    const name = `all of ${engine}`;
    const source = { type: "inline" as const, files: fixtureFiles("many-resources") };
    await machine.user.configure({ name, engine, source, variables: { n: { value: 300 } } });
    const plan = async (...words: string[]) => {
      const { id, plan_options } = await machine.json<Job>(
        "jobs",
        "plan",
        name,
        "--wait",
        ...words,
      );
      const shown = await jobs("show", id, "--plan");
      return { id, plan_options, shown: String(shown.stdout) };
    };
    const deploy = (id: string) => machine.json<Job>("jobs", "deploy", "--plan", id, "--wait");

    const part = await plan("--target", "terraform_data.r[7]", "--target", "terraform_data.r[8]");
    expect(part.shown).toMatch(/^Plan: 2 to add$/m);
    expect(part.shown).toContain("limited to terraform_data.r[7], terraform_data.r[8]");
    expect(await deploy(part.id)).toMatchObject({ plan_options: part.plan_options });
    expect(await read(name)).toMatchObject({ status: "DEPLOYED", deployed: { resources: 2 } });
    await deploy((await plan()).id);
    expect(await read(name)).toMatchObject({ status: "DEPLOYED", deployed: { resources: 300 } });

    expect((await plan("--refresh-only")).shown).not.toMatch(/to (add|change|destroy|replace)/);
    const replacing = await plan("--replace", "terraform_data.r[0]");
    expect(replacing.shown).toMatch(/^Plan: 1 to replace$/m);
    expect(await deploy(replacing.id)).toMatchObject({ status: "SUCCESS" });

    if (testEngine === "opentofu") {
      const kept = await plan("--destroy", "--exclude", "terraform_data.r[7]");
      expect(kept.shown).toMatch(/^Plan: 299 to destroy$/m);
      expect(kept.shown).toContain("has deployed, except terraform_data.r[7]");
      expect((await jobs("deploy", name, "--plan", "-")).stderr).toContain(
        "all but what it excludes",
      );
      await deploy(kept.id);
      expect(await read(name)).toMatchObject({ status: "DEPLOYED", deployed: { resources: 1 } });
      const rest = await plan("--exclude", "terraform_data.r[8]");
      expect(rest.shown).toMatch(/^Plan: 298 to add$/m);
      await deploy(rest.id);
      await deploy((await plan()).id);
    }

    const destroying = await plan("--destroy");
    expect(destroying.shown).toMatch(/^Plan: 300 to destroy$/m);
    expect(await deploy(destroying.id)).toMatchObject({ job_type: "DEPLOY", status: "SUCCESS" });
    expect(await read(name)).toMatchObject({ status: "DESTROYED", deployed: null });
    const again = await jobs("deploy", "--plan", destroying.id);
    expect(again).toMatchObject({ exitCode: 1 });
    expect(again.stderr).toMatch(
      new RegExp(`was already deployed, by .*\\. Run: windlass jobs destroy '${name}'$`),
    );
  });
});

test.concurrent("jobs plan --detailed-exitcode tells changes, none, failures and wrong usage apart", async () => {
  const name = "codes";
  const files = fixtureFiles("success-cluster");
  await machine.user.configure({ name, source: { type: "inline", files } });
  const code = async (...words: string[]) =>
    (await jobs("plan", ...words, "--detailed-exitcode")).exitCode;
  expect(await code(name)).toBe(2);
  await machine.json("jobs", "deploy", name, "--wait");
  expect(await code(name)).toBe(0);
  expect(await code(name, "--destroy")).toBe(2);
  expect(await code(name, "--destroy", "--refresh-only")).toBe(64);
  expect(await code()).toBe(64);
  expect(await code(name, "--no-such-option")).toBe(64);
  expect(await code(name, "--target", "not an address")).toBe(64);
  expect(await jobs("plan", name, "--replace", "a.b", "--destroy")).toMatchObject({ exitCode: 2 });
  if (testEngine === "opentofu") return;
  const refused = await jobs("plan", name, "--exclude", "a.b");
  expect(refused).toMatchObject({ exitCode: 2 });
  expect(refused.stderr).toContain("--exclude needs OpenTofu");
});

test.concurrent("jobs destroy plans nothing in a pipe, and a previewed destruction is deployed by its id", async () => {
  const name = "previewed";
  const files = fixtureFiles("success-cluster");
  await machine.user.configure({ name, source: { type: "inline", files } });
  await machine.json("jobs", "deploy", name, "--wait");
  const asked = await jobs("destroy", name);
  expect(asked).toMatchObject({ exitCode: 2, stdout: "" });
  expect(asked.stderr).toContain("Pass --yes to confirm. Or plan it first: windlass jobs plan");
  expect(await machine.json("jobs", "list", "--configuration", name)).toHaveLength(1);
  const planned = await jobs("plan", name, "--destroy", "--wait");
  expect(planned.stdout).toMatch(/^Plan: 3 to destroy$/m);
  expect(await read(name)).toMatchObject({ status: "DEPLOYED" });
  const kept = await machine.run("configurations", "delete", name, "--yes");
  expect(kept).toMatchObject({ exitCode: 1, stdout: "" });
  expect(kept.stderr).toContain("destroy them first. Run: windlass jobs destroy previewed");
  const id = /--plan (\S+) --wait/.exec(String(planned.stderr))?.[1] ?? "";
  // A script that deploys the latest plan must not carry out a destruction that was only previewed.
  const latest = await jobs("deploy", name, "--plan", "-", "--wait");
  expect(latest).toMatchObject({ exitCode: 2 });
  expect(latest.stderr).toContain(`windlass jobs deploy --plan ${id} --wait`);
  expect(latest.stderr).toContain('would destroy everything that "previewed" has deployed');
  expect(await read(name)).toMatchObject({ status: "DEPLOYED" });
  await jobs("plan", name, "--destroy", "--target", "terraform_data.a", "--wait");
  const partial = await jobs("deploy", name, "--plan", "-", "--wait");
  expect(partial.stderr).toContain('would destroy its targets, of what "previewed" has deployed');
  await machine.json("jobs", "deploy", "--plan", id, "--wait");
  expect(await read(name)).toMatchObject({ status: "DESTROYED" });
});
