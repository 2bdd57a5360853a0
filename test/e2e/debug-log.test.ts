/** Terraform's debug log as a file of the job: real agent, control plane and terraform, at the level that works here. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Job } from "../../protocol/jobs.ts";
import { send } from "../../protocol/transport.ts";
import { userMachine, type UserMachine } from "../helpers/user-machine.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";
import { bearer } from "../helpers/sign-in.ts";

const limit = 1024 * 1024;
const secret = "PLANTED-secret-of-the-debug-log";

const { plane } = planeForFile();
let machine: UserMachine;
beforeAll(async () => {
  machine = await userMachine(plane, { agent: { WINDLASS_DEBUG_LOG_LIMIT_MIB: "1" } });
});
afterAll(async () => {
  await machine[Symbol.asyncDispose]();
});

/** A configuration whose apply runs a command; it knows the secret as `$SECRET`. */
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
  const { body } = await send(plane.url, endpoints.downloadDebugLog, input, { headers });
  return gunzipSync(Buffer.from(await body.arrayBuffer())).toString();
}

test("holds what terraform logs, masked, and leaves the job's log as it is", async () => {
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
  for (const command of ["init", "plan", "apply", "output"])
    expect(text).toMatch(new RegExp(`CLI command args: .*"${command}"`));
  expect(text).toContain("wrote ***\n");
  const { workerToken } = await machine.identity();
  for (const known of [secret, workerToken]) expect(text).not.toContain(known);
  expect(text).not.toContain("[windlass]");
});

test("stops at its bound while terraform writes, and is there of a job that failed", async () => {
  const { user } = machine;
  // Ends only when the agent has cut the file under its writer, which then goes on.
  const command = `head -c ${4 * limit} /dev/zero | tr '\\0' x >> "$TF_LOG_PATH"
    while [ "$(stat -c %s "$TF_LOG_PATH")" -gt ${limit + 1} ]; do sleep 0.05; done
    echo "goes on" >> "$TF_LOG_PATH" && exit 7`;
  const configuration_id = await configure(command);
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, debug: true });
  const ended = await user.released(deploy);
  expect(ended.status).toBe("FAILED");
  expect(ended.error_message).toContain("exit status 7");
  const text = await debugLog(deploy);
  const [kept, said] = text.split("\n[windlass] ");
  expect(Buffer.byteLength(kept ?? "")).toBeLessThanOrEqual(limit);
  expect(kept).toMatch(/x{1000}$/);
  expect(said).toContain(`over ${limit} bytes`);
});

test("is kept of a job that another agent took up, and that was cancelled", async () => {
  const { user } = machine;
  const command = 'echo "before the kill" >> "$TF_LOG_PATH"; echo begun; exec sleep 600';
  const configuration_id = await configure(command);
  const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, debug: true });
  while (!(await user.log(deploy)).includes("begun"));
  machine.agent.kill("SIGKILL");
  await machine.agent.exited;
  machine.restart();
  await machine.ready();
  await user.call(endpoints.cancelJob, { params: deploy });
  expect(await user.released(deploy)).toMatchObject({ status: "CANCELLED" });
  const text = await debugLog(deploy);
  expect(text).toContain("before the kill");
  expect(text).toMatch(/CLI command args: .*"apply"/);
});
