/** What the client shows of outputs, from a real deployment. */
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Job } from "../../../protocol/jobs.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("an output that is too large is named with its size and where it is, and each output once", async () => {
  await using ada = await userMachine(plane, { agent: true });
  const write = (small: string) =>
    writeFiles(join(ada.path, "app"), {
      "main.tf": `
output "large" { value = join("", [for n in range(1000) : format("%0300d", n)]) }
output "small" { value = "${small}" }
`,
    });
  const directory = write("first");
  const omitted = "large  = (300,002 bytes: too large to be kept here)";
  const hint = "What is too large to be kept here is in the state: windlass state pull app";
  for (const command of [
    ["up", directory, "--yes"],
    ["configurations", "show", "app"],
    ["jobs", "show", "app/-"],
    ["up", directory, "--yes"],
  ]) {
    const { stdout, stderr } = await ada.run(...command);
    const shown = String(stdout);
    if (command[0] === "jobs") expect(shown.match(/small +=|small:/g)).toEqual(["small  ="]);
    expect([command, String(stderr)]).toEqual([command, expect.stringContaining(hint)]);
    expect(shown.slice(shown.lastIndexOf("\nOutputs:\n"))).toBe(
      `\nOutputs:\n  ${omitted}\n  small  = first`,
    );
  }

  await ada.run("up", write("second"), "--yes");
  const changed = await ada.run("jobs", "show", "app/-");
  expect(changed.stdout).toContain('\nChanges to outputs:\n    ~ small: "first" → "second"\n');

  const job = await ada.json<Job>("jobs", "show", "app/-");
  expect(job.execution_metadata?.outputs?.["large"]).toMatchObject({ omitted_bytes: 300_002 });
});
