/** Variable sets give values only to the configurations that declare their variables. */
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

it("terraform does not warn of a set's variable that the files do not declare", async () => {
  await using ada = await userMachine(plane, { agent: true });
  await ada.json("zones", "create", "z");
  const source = { type: "inline", files: { "main.tf": "" } };
  const { id: set } = await ada.json<{ id: string }>(
    "variable-sets",
    "create",
    "shared",
    "--var",
    "region=eu",
    "--var",
    "size=3",
  );
  await ada.json("variable-sets", "attach", set, "--zone", "z");
  await ada.user.configure({ name: "unrelated", source });
  const up = async (name: string, text: string, ...words: string[]) => {
    const directory = writeFiles(join(ada.path, name), { "main.tf": text });
    const job = await ada.json<Job>("up", directory, "--zone", "z", "--yes", ...words);
    const plan = await ada.user.log({ ...job, id: job.plan_job_id ?? job.id });
    return { job, plan };
  };

  const none = await up("none", 'output "a" {\n  value = 1\n}\n');
  expect(none.job.status).toBe("SUCCESS");
  expect(none.plan).not.toMatch(/undeclared|not declare/);
  const one = await up("one", 'variable "size" {}\noutput "size" {\n  value = var.size + 1\n}\n');
  expect(one.plan).not.toMatch(/undeclared|not declare/);
  expect(one.job.execution_metadata?.outputs).toMatchObject({ size: { value: 4 } });
  // A value of the configuration itself may be misspelt.
  const own = await up("own", 'output "a" {\n  value = 1\n}\n', "--var", "regoin=eu");
  expect(own.plan).toMatch(/does not declare a variable named "regoin"/);
  expect(own.plan).not.toContain('"region"');
  const plan = await ada.json<Job>("jobs", "show", own.job.plan_job_id ?? "");
  expect(plan.execution_metadata?.warnings).toEqual([
    {
      summary: "Value for undeclared variable",
      detail: expect.stringContaining(
        'a variable named "regoin" but a value was found in file "job.',
      ),
    },
  ]);
  expect(none.job.execution_metadata).not.toHaveProperty("warnings");
});
