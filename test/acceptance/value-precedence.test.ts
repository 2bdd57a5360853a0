/**
 * Which source of a variable's value wins, with real terraform: the table in docs/up.md, "Which
 * value wins".
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { root } from "../helpers/project/source-files.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

/** Each row of the table, with its sources in the order in which they win. */
const rows = {
  "the configuration": ["--var", "--var-file of JSON"],
  "a variable set that is attached to the configuration": ["set c", "set d"],
  "a variable set that is attached to the zone": ["set a", "set b"],
  "`.tfvars` files of the configuration": ["prod.tfvars", "z.tfvars"],
  "`*.auto.tfvars` and `*.auto.tfvars.json` in the source": ["b.auto.tfvars", "a.auto.tfvars.json"],
  "`terraform.tfvars.json` in the source": ["terraform.tfvars.json"],
  "`terraform.tfvars` in the source": ["terraform.tfvars"],
  "`TF_VAR_name` in the environment": ["--env", "environment of set c", "environment of set a"],
  "the default of the variable": ["default"],
} as const;
const sources = Object.values(rows).flat();
type Source = (typeof sources)[number];

/** The variable `v3` has a value from the sources of rank 3 and below, so rank 3 has to win. */
const valuesOf = (source: Source): Record<string, string> =>
  Object.fromEntries(
    sources.slice(0, sources.indexOf(source) + 1).map((_, rank) => [`v${rank}`, source]),
  );
const hcl = (source: Source): string =>
  Object.entries(valuesOf(source))
    .map(([name, value]) => `${name} = "${value}"\n`)
    .join("");
const asOptions = (option: string, values: Record<string, string>, prefix = ""): string[] =>
  Object.entries(values).flatMap(([name, value]) => [option, `${prefix}${name}=${value}`]);

test("the sources of values win in the order that docs/up.md shows, and only a misspelt value of the configuration itself is warned of", async () => {
  await using machine = await userMachine(plane, { agent: true });
  const { json, path } = machine;
  const directory = join(path, "network");
  mkdirSync(directory);
  const write = (name: string, text: string): void => writeFileSync(join(directory, name), text);
  write(
    "main.tf",
    Object.entries(valuesOf("default"))
      .map(
        ([name, value]) =>
          `variable "${name}" {\n  default = "${value}"\n}\noutput "${name}" {\n  value = var.${name}\n}\n`,
      )
      .join(""),
  );
  for (const name of ["terraform.tfvars", "b.auto.tfvars", "prod.tfvars", "z.tfvars"] as const)
    write(name, hcl(name));
  for (const name of ["terraform.tfvars.json", "a.auto.tfvars.json"] as const)
    write(name, JSON.stringify(valuesOf(name)));
  write("own.tfvars.json", JSON.stringify(valuesOf("--var-file of JSON")));

  const addSet = (name: "a" | "b" | "c" | "d", environment?: Source) =>
    json(
      "variable-sets",
      "create",
      name,
      // The files do not declare `region`: a set is for many configurations.
      ...asOptions("--var", { ...valuesOf(`set ${name}`), region: "eu" }),
      ...(environment ? asOptions("--env", valuesOf(environment), "TF_VAR_") : []),
    );
  const attach = (name: string, ...to: string[]) => json("variable-sets", "attach", name, ...to);
  // The order of the options decides, not that of the names.
  const files = ["z.tfvars", "prod.tfvars"].flatMap((name) => [
    "--var-file",
    join(directory, name),
  ]);
  /** Returns the warnings of the plan. */
  const up = async (...options: string[]) => {
    const job = await json<Job>("up", directory, "--zone", "z", "--yes", ...options);
    const plan = await json<Job>("jobs", "show", job.plan_job_id ?? "");
    return plan.execution_metadata?.warnings;
  };
  await json("zones", "create", "z");
  await addSet("b");
  await addSet("a", "environment of set a");
  for (const name of ["b", "a"]) await attach(name, "--zone", "z");
  expect(await up(...files)).toBeUndefined();
  await addSet("d");
  await addSet("c", "environment of set c");
  for (const name of ["d", "c"]) await attach(name, "--configuration", "network");
  const warnings = await up(
    ...files,
    // A value of the configuration itself may be misspelt.
    ...asOptions("--var", { ...valuesOf("--var"), regoin: "eu" }),
    "--var-file",
    join(directory, "own.tfvars.json"),
    ...asOptions("--env", valuesOf("--env"), "TF_VAR_"),
  );
  const detail = 'a variable named "regoin" but a value was found in file "job.';
  expect(warnings).toEqual([
    { summary: "Value for undeclared variable", detail: expect.stringContaining(detail) },
  ]);

  const { components } = await json<Configuration>("configurations", "show", "network");
  expect(Object.fromEntries(components.map(({ name, value }) => [name, value]))).toEqual(
    Object.fromEntries(sources.map((source, rank) => [`v${rank}`, source])),
  );
});

test("docs/up.md has these sources in this order", () => {
  const [, section = ""] = readFileSync(join(root, "docs/up.md"), "utf8").split(
    "\n## Which value wins\n",
  );
  const [table = ""] = section.split("\n## ");
  const cells = [...table.matchAll(/^\| (.*?) \|/gm)].map(([, cell]) => cell);
  expect(cells.slice(1)).toEqual(Object.keys(rows));
});
