/** An apply that runs for as long as a test needs. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Job } from "../../../protocol/jobs.ts";
import { until } from "./agent-process.ts";
import { processesOf } from "../machine/processes.ts";
import type { UserMachine } from "../cli/user-machine.ts";

/** The agent needs these settings: a sandbox would hide the file that holds the apply. */
export const isolationForHeldApply = {
  WINDLASS_ISOLATION: process.getuid?.() === 0 ? "uid" : "process",
};

/** Starts an apply that runs until `finish` is called, or until it is interrupted. */
export async function startHeldApply({
  user,
  path,
}: Pick<UserMachine, "user" | "path">): Promise<{ readonly job: Job; finish(): void }> {
  const gate = join(path, "gate");
  writeFileSync(gate, "");
  const command = `echo applying; while [ -e '${gate}' ]; do sleep 0.05; done`;
  const files = {
    "main.tf": `resource "terraform_data" "held" {
      provisioner "local-exec" { command = ${JSON.stringify(command)} }
    }`,
  };
  const configuration_id = await user.configure({ source: { type: "inline", files } });
  const job = await user.queue({ job_type: "DEPLOY", configuration_id });
  await until(() => processesOf(gate).some((line) => line.includes("echo applying")));
  return { job, finish: () => rmSync(gate) };
}
