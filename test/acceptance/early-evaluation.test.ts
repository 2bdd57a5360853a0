/**
 * OpenTofu evaluates module sources, backends and encryption before anything else, in each command.
 * Without a real one, a script that refuses what OpenTofu would refuse runs terraform.
 */
import { expect, test } from "vitest";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { testEngine } from "../helpers/agent/engines.ts";
import { asTofu, bothEngines } from "../helpers/agent/terraform.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

/** Exits with 1 where a value that it needs at once is not given. */
const strict = (): string => `
case "$1" in get | init | output | show | state)
  case "$*" in *-var-file=*job.tfvars.json*) ;; *) echo "No value for required variable" >&2; exit 1 ;; esac
esac
${asTofu()}`;

const variables = {
  place: { value: "./inner" },
  passphrase: { value: "a passphrase of the test", sensitive: true },
};
const inner = 'output "it" {\n  value = "made"\n}\n';
const declared = 'variable "place" {}\nvariable "passphrase" {}\n';
const result = 'output "it" {\n  value = module.inner.it\n}\n';

async function deploys(
  { user }: UserMachine,
  main: string,
  environment: Record<string, string> = {},
): Promise<string> {
  const files = { "main.tf": `${declared}${main}${result}`, "inner/main.tf": inner };
  const source = { type: "inline" as const, files };
  const configuration_id = await user.configure({
    source,
    engine: "opentofu",
    variables,
    environment: Object.fromEntries(Object.entries(environment)),
  });
  const plan = await user.queue({ job_type: "PLAN", configuration_id });
  expect(await user.released(plan)).toMatchObject({ status: "SUCCESS", error_message: null });
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, plan_job_id: plan.id });
  const { status, error_message, execution_metadata } = await user.released(deploy);
  expect([status, error_message]).toEqual(["SUCCESS", null]);
  expect(execution_metadata?.["outputs"]).toMatchObject({ it: { value: "made" } });
  const destroy = await user.queue({ job_type: "DESTROY", configuration_id });
  expect(await user.released(destroy)).toMatchObject({ status: "SUCCESS", error_message: null });
  return user.log(plan, "SYSTEM");
}

const encryption = `terraform {
  encryption {
    key_provider "pbkdf2" "it" {
      passphrase = var.passphrase
    }
    method "aes_gcm" "it" {
      keys = key_provider.pbkdf2.it
    }
    state {
      method = method.aes_gcm.it
    }
    plan {
      method = method.aes_gcm.it
    }
  }
}
`;
const main = {
  terraform: 'module "inner" {\n  source = "./inner"\n}\n',
  opentofu: `module "inner" {\n  source = var.place\n}\n${encryption}`,
};

test("every command of OpenTofu gets the variables of the configuration, and the log names a TF_VAR_… that differs", async () => {
  await using machine = await userMachine(plane, { agent: (path) => bothEngines(path, strict()) });
  const log = await deploys(machine, main[testEngine], { TF_VAR_place: "./other" });
  expect(log).toContain(
    "Warning: TF_VAR_place in the environment differs from the variable place of the configuration",
  );
  expect(log).not.toContain("TF_VAR_passphrase");
});
