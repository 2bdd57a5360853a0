import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import { differing, withVariables } from "../../../../agent/job/plan/variables.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const place = folderForFile();

const job = (snapshot: object, engine = "opentofu", version = "1.8.0") =>
  ({
    claim: { job: { config_snapshot: { var_files: ["a.tfvars"], ...snapshot } } },
    workspace: { source: "/source", variables: join(place, "job.tfvars.json") },
    facts: { engine: { engine, version } },
  }) as unknown as JobContext;

test("withVariables gives them to each command of OpenTofu from 1.8 on that takes them", () => {
  const file = "-var-file=/source/a.tfvars";
  const own = `-var-file=${join(place, "job.tfvars.json")}`;
  expect(withVariables(job({}), ["get"])).toEqual(["get", file]);
  writeFileSync(join(place, "job.tfvars.json"), "{}");
  for (const command of ["get", "init", "output", "show"])
    expect(withVariables(job({}), [command, "-json", "x"])).toEqual([
      command,
      file,
      own,
      "-json",
      "x",
    ]);
  const push = ["state", "push", "errored.tfstate"];
  expect(withVariables(job({}), push)).toEqual(["state", "push", file, own, "errored.tfstate"]);
  for (const command of ["plan", "apply", "version"])
    expect(withVariables(job({}), [command])).toEqual([command]);
  for (const context of [job({}, "terraform", "1.11.4"), job({}, "opentofu", "1.7.9")])
    expect(withVariables(context, ["init"])).toEqual(["init"]);
});

test("differing names the variables whose TF_VAR_… has another value", () => {
  const variables = {
    same: { value: "x" },
    other: { value: "x" },
    alone: { value: "x" },
    list: { value: ["a", 1] },
    number: { value: 2 },
  };
  const environment = {
    TF_VAR_same: "x",
    TF_VAR_other: "y",
    TF_VAR_list: '[ "a", 1 ]',
    TF_VAR_number: "3",
    TF_VAR_free: "y",
  };
  expect(differing(job({ variables, environment }))).toEqual(["other", "number"]);
  expect(differing(job({}))).toEqual([]);
});
