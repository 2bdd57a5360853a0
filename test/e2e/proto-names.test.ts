/** The name `__proto__`, which terraform allows and which assignment to an object loses. */
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("values that are called __proto__ reach terraform, and come back as outputs", async () => {
  await using ada = await userMachine(plane, { agent: true });
  const directory = join(ada.path, "odd");
  writeFiles(directory, {
    "main.tf": `
variable "__proto__" { type = string }
variable "of_set" { default = "" }
resource "terraform_data" "a" {
  input = { "__proto__" = var.__proto__ }
  provisioner "local-exec" { command = "echo environment=$__proto__" }
}
output "__proto__" { value = terraform_data.a.output }
output "constructor" { value = "c" }
`,
  });
  await ada.json("variable-sets", "create", "s", "--var", "__proto__=of the set");
  const options = ["--env", "__proto__=e", "--var", "__proto__=v"];
  const up = await ada.run("up", directory, ...options, "--yes");
  expect(up).toMatchObject({ exitCode: 0 });
  const output = JSON.stringify({ ["__proto__"]: "v" });
  expect(up.stdout).toContain(`  __proto__    = ${output}\n  constructor  = c`);
  expect(String(up.stdout) + String(up.stderr)).toContain("environment=e");

  const deployed = await ada.json<Configuration>("configurations", "show", "odd");
  expect(deployed.components.map(({ name }) => name)).toEqual(["__proto__", "constructor"]);
  expect(Object.keys(deployed.variables ?? {})).toEqual(["__proto__"]);
  expect(Object.keys(deployed.environment ?? {})).toEqual(["__proto__"]);
  const again = await ada.run("up", directory, "--yes");
  expect(again.stdout).toContain("Plan: no changes");
  const shown = await ada.run("configurations", "show", "odd");
  expect(shown.stdout).toContain("__proto__");

  // The value of a set wins over a default, like that of any other name.
  await ada.json("configurations", "update", "odd", "--unset", "__proto__");
  await ada.json("variable-sets", "attach", "s", "--configuration", "odd");
  const ofSet = await ada.json<Job>("up", directory, "--yes");
  const outputs = new Map(Object.entries(ofSet.execution_metadata?.outputs ?? {}));
  expect(outputs.get("__proto__")).toMatchObject({
    value: JSON.parse(JSON.stringify({ ["__proto__"]: "of the set" })) as unknown,
  });
});
