/** A directory without terraform files must not destroy what is deployed. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { fixtureFiles, writeFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { bothEngines } from "../helpers/agent/terraform.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();
let ada: UserMachine;
beforeAll(async () => {
  ada = await userMachine(plane, { agent: bothEngines });
});
afterAll(() => ada[Symbol.asyncDispose]());

/** Files that neither engine reads. */
const otherFiles = {
  "readme.txt": "",
  ".hidden.tf": "",
  "main.tf~": "",
  "#main.tf#": "",
  "terraform.tfvars": "",
  "deeper/main.tf": "",
  "named.tf/readme.txt": "",
  "zzzz_windlass_0_override.tf.json": "{}",
};
const inFolder = (folder: string, files: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [join(folder, name), text]));

const read = (name: string) => ada.json<Configuration>("configurations", "show", name);
const move = (name: string, ...options: string[]) =>
  ada.json("configurations", "update", name, ...options);

/** Runs a job to its end. */
async function end(job: Parameters<UserMachine["user"]["queue"]>[0]): Promise<Job> {
  return ada.user.released(await ada.user.queue(job));
}

describe.concurrent.each([
  ["terraform", "*.tf, *.tf.json", { "main.tofu": "", "main.tofu.json": "{}" }],
  ["opentofu", "*.tf, *.tofu, *.tf.json, *.tofu.json", {}],
] as const)("a directory without files that %s reads", (engine, endings, others) => {
  test("fails a PLAN and a DEPLOY before init, and is torn down by a DESTROY", async () => {
    const name = `moved with ${engine}`;
    const files = {
      ...fixtureFiles("many-resources"),
      ...inFolder("docs", { ...otherFiles, ...others }),
    };
    const source = { type: "inline" as const, files };
    const variables = { n: { value: 5 } };
    const configuration_id = await ada.user.configure({ name, engine, source, variables });
    expect(await end({ job_type: "DEPLOY", configuration_id })).toMatchObject({
      status: "SUCCESS",
    });
    await move(name, "--working-directory", "docs");
    const refused = {
      status: "FAILED",
      error_message: `source: the directory "docs" has no terraform files (${endings}), so terraform would destroy everything. Check the working directory`,
    };
    expect(await end({ job_type: "PLAN", configuration_id })).toMatchObject(refused);
    expect(await end({ job_type: "PLAN", configuration_id, refresh_only: true })).toMatchObject(
      refused,
    );
    const deploy = await end({ job_type: "DEPLOY", configuration_id });
    expect(deploy).toMatchObject(refused);
    expect(await ada.user.log(deploy)).not.toContain("init");
    expect(await read(name)).toMatchObject({ status: "FAILED", deployed: { resources: 5 } });

    // As terraform itself plans and does it without a configuration.
    const plan = await end({ job_type: "PLAN", configuration_id, destroy: true });
    expect(plan).toMatchObject({ status: "SUCCESS", error_message: null });
    const planned = await end({ job_type: "DEPLOY", configuration_id, plan_job_id: plan.id });
    expect(planned).toMatchObject({ status: "SUCCESS" });
    expect(await read(name)).toMatchObject({ status: "DESTROYED" });
    await move(name, "--working-directory", "");
    expect(await end({ job_type: "DEPLOY", configuration_id })).toMatchObject({
      status: "SUCCESS",
    });
    await move(name, "--working-directory", "docs");
    const destroyed = await end({ job_type: "DESTROY", configuration_id });
    expect(destroyed).toMatchObject({ status: "SUCCESS", error_message: null });
    expect(await read(name)).toMatchObject({ status: "DESTROYED" });
  });
});

test.concurrent.each([
  ["terraform", "override.tf"],
  ["terraform", "a_override.tf.json"],
  ["opentofu", "main.tofu.json"],
] as const)("for %s, %s alone is a configuration", async (engine, file) => {
  const source = { type: "inline" as const, files: { [file]: file.endsWith("json") ? "{}" : "" } };
  const name = `alone ${engine} ${file}`;
  const configuration_id = await ada.user.configure({ name, engine, source });
  expect(await end({ job_type: "PLAN", configuration_id })).toMatchObject({ status: "SUCCESS" });
});

describe.concurrent("the client refuses a directory without terraform files", () => {
  const nested = (name: string) =>
    writeFiles(join(ada.path, name), {
      "sized/main.tf": "",
      "sized/deep/main.tf": "",
      "docs/a": "",
    });
  const advice =
    "and terraform does not read those of other directories. Pass the directory in which it runs, such as --working-directory";

  test("create and update", async () => {
    const directory = nested("created");
    const create = ["configurations", "create", "created", "--dir", directory];
    const refused = await ada.run(...create);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toBe(`windlass: "${directory}" has no .tf files, ${advice} sized`);
    const made = await ada.run(...create, "--working-directory", "sized/");
    expect(made).toMatchObject({ exitCode: 0 });
    const before = await read("created");
    const inner = join(directory, "sized");
    const update = await ada.run("configurations", "update", "created", "--dir", inner);
    expect(update).toMatchObject({ exitCode: 1, stdout: "" });
    expect(update.stderr).toBe(`windlass: "${join(inner, "sized")}" has no .tf files, ${advice} .`);
    expect(await read("created")).toEqual(before);
    await move("created", "--dir", inner, "--working-directory", ".");
  });

  test("up", async () => {
    const directory = nested("upped");
    const refused = await ada.run("up", directory, "--yes");
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    const upAdvice = `Pass the directory in which it runs, such as: windlass up ${join(directory, "sized")}`;
    expect(refused.stderr).toContain(`"${directory}" has no .tf files, and`);
    expect(refused.stderr).toContain(upAdvice);
    const docs = await ada.run("up", directory, "--working-directory", "docs", "--yes");
    expect(docs).toMatchObject({ exitCode: 1, stdout: "" });
    expect(docs.stderr).toContain(`"${join(directory, "docs")}" has no .tf files, and`);
    expect(docs.stderr).toContain(upAdvice);
    expect(docs.stderr).not.toContain("Packed");
    expect(await ada.run("configurations", "show", "upped")).toMatchObject({ exitCode: 1 });
  });
});
