/** The debug log of a job, with a real agent, control plane and terraform. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { send } from "../../protocol/transport.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { bearer } from "../helpers/people/sign-in.ts";

const limit = 1024 * 1024;
const secret = "PLANTED-secret-of-the-debug-log";

const { plane } = planeForFile();
let machine: UserMachine;
beforeAll(async () => {
  machine = await userMachine(plane, {
    agent: { WINDLASS_TEST_LIMITS: `{"debugLogLimitBytes": ${limit}}` },
  });
});
afterAll(async () => {
  await machine[Symbol.asyncDispose]();
});

/** A configuration whose apply runs the command with a secret in `$SECRET`. */
const configure = (command: string) =>
  machine.user.configure({
    source: {
      type: "inline",
      files: {
        "main.tf": `
variable "secret" {
  type      = string
  sensitive = true
}
resource "terraform_data" "a" {
  provisioner "local-exec" {
    quiet       = true
    environment = { SECRET = nonsensitive(var.secret) }
    command     = ${JSON.stringify(command)}
  }
}
`,
      },
    },
    variables: { secret: { value: secret, sensitive: true } },
  });

async function debugLog({ id }: Job): Promise<string> {
  const headers = bearer(machine.user.environment.WINDLASS_TOKEN);
  const input = { params: { id } };
  const { body } = await send(plane.url, "downloadDebugLog", input, { headers });
  return gunzipSync(Buffer.from(await body.arrayBuffer())).toString();
}

test("the debug log has the masked output of terraform, and the job's log is unchanged", async () => {
  const { user } = machine;
  const configuration_id = await configure('echo "wrote $SECRET" >> "$TF_LOG_PATH"');
  const [plain, plan, deploy] = [
    await user.queue({ job_type: "PLAN", configuration_id }),
    await user.queue({ job_type: "PLAN", configuration_id, debug: true }),
    await user.queue({ job_type: "DEPLOY", configuration_id, debug: true }),
  ];
  expect(await user.released(deploy)).toMatchObject({ status: "SUCCESS", log_complete: true });
  expect(await user.read(plain)).toMatchObject({ debug: false, debug_log_bytes: null });
  for (const stream of ["STDOUT", "STDERR"])
    expect(await user.log(plan, stream)).toBe(await user.log(plain, stream));

  const text = await debugLog(deploy);
  const { debug_log_bytes } = await user.read(deploy);
  expect(debug_log_bytes).toBeGreaterThan(1000);
  expect(text).toContain("[DEBUG]");
  // The outputs of a managed state are read without terraform.
  for (const command of ["init", "plan", "apply"])
    expect(text).toMatch(new RegExp(`CLI command args: .*"${command}"`));
  expect(text).toContain("wrote ***\n");
  const { workerToken } = await machine.identity();
  for (const known of [secret, workerToken]) expect(text).not.toContain(known);
  expect(text).not.toContain("[windlass]");
});

test("the debug log of a failed job ends at its limit", async () => {
  const { user } = machine;
  // Ends when the agent has truncated the file, and writes to it again.
  const command = `head -c ${4 * limit} /dev/zero | tr '\\0' x >> "$TF_LOG_PATH"
    while [ "$(stat -c %s "$TF_LOG_PATH")" -gt ${limit + 1} ]; do sleep 0.05; done
    echo "continues" >> "$TF_LOG_PATH" && exit 7`;
  const configuration_id = await configure(command);
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, debug: true });
  const ended = await user.released(deploy);
  expect(ended.status).toBe("FAILED");
  expect(ended.error_message).toContain("exit status 7");
  const text = await debugLog(deploy);
  const [kept, notice] = text.split("\n[windlass] ");
  expect(Buffer.byteLength(kept ?? "")).toBeLessThanOrEqual(limit);
  expect(kept).toMatch(/x{1000}$/);
  expect(notice).toContain(`larger than ${limit} bytes`);
});

test("the debug log of a job that was adopted and cancelled is complete", async () => {
  const { user } = machine;
  const command = 'echo "before the kill" >> "$TF_LOG_PATH"; echo begun; exec sleep 600';
  const configuration_id = await configure(command);
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, debug: true });
  while (!(await user.log(deploy)).includes("begun"));
  machine.agent.kill("SIGKILL");
  await machine.agent.exited;
  machine.restart();
  await machine.ready();
  await user.client.call("cancelJob", { params: deploy });
  expect(await user.released(deploy)).toMatchObject({ status: "CANCELLED" });
  const text = await debugLog(deploy);
  expect(text).toContain("before the kill");
  expect(text).toMatch(/CLI command args: .*"apply"/);
});
