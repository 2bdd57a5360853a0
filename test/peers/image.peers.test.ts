/** The image, built by podman and started as docs/containers.md says, and the level `container`. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { uidCapabilities } from "../../agent/job/isolation/choose.ts";
import { minute } from "../../common/units.ts";
import type { Job } from "../../protocol/jobs.ts";
import { startAgent, until } from "../helpers/agent/agent-process.ts";
import { startHeldApply } from "../helpers/agent/held-apply.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import {
  buildImage,
  commit,
  configurePodman,
  image,
  lackOfEngine,
  podman,
  prefix,
  removeContainers,
} from "../helpers/machine/podman.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { addUserAt, type User } from "../helpers/people/user.ts";
import { skipAt } from "../helpers/project/tools.ts";

const lack = lackOfEngine();
skipAt(lack);

const path = folderForFile();
const engine = configurePodman(path);
const name = (role: string): string => `${prefix}-${role}`;
const hardened = ["--read-only", "--tmpfs", "/tmp", "--security-opt", "no-new-privileges"];
const asRoot = ["--user", "0", "--cap-drop", "ALL"];
const capabilities = uidCapabilities.flatMap((one) => ["--cap-add", one]);
const terraform = lack ? "" : execFileSync("sh", ["-c", "command -v terraform"]).toString().trim();

let url: string;
let user: User;

/** Starts a container in the machine's network. Jobs find terraform, and the files that hold them. */
const start = (role: string, options: readonly string[], ...command: string[]): Promise<string> =>
  podman(
    "run",
    "--detach",
    "--name",
    name(role),
    "--network",
    "host",
    "--stop-timeout",
    "600",
    "--volume",
    `${name(role)}:/var/lib/windlass${command[0] === "agent" ? "-agent" : ""}`,
    "--volume",
    `${terraform}:/usr/local/bin/terraform:ro`,
    "--volume",
    `${path}:${path}`,
    ...options,
    image,
    ...command,
  );
const logs = (role: string): Promise<string> => podman("logs", name(role));
const logged = async (role: string, text: string): Promise<void> => {
  while (!(await logs(role)).includes(text)) await new Promise((done) => setTimeout(done, 200));
};
const asAgent = async (): Promise<string[]> => [
  "--env",
  `WINDLASS_URL=${url}`,
  "--env",
  "WINDLASS_HEARTBEAT_SECONDS=1",
  "--env",
  `WINDLASS_REGISTRATION_TOKEN=${await user.registrationToken()}`,
];
const ended = (job: Job) => user.reaches(job, "SUCCESS", "FAILED", "CANCELLED");

beforeAll(async () => {
  if (lack) return;
  await buildImage();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const jwtSecret = "j".repeat(40);
  const secret = ["--env", `CLI_JWT_SECRET=${jwtSecret}`];
  const settings = [
    ...secret,
    "--env",
    `WINDLASS_PORT=${port}`,
    "--env",
    `WINDLASS_PUBLIC_URL=${url}`,
  ];
  await start("server", [...hardened, "--cap-drop", "ALL", ...settings], "server");
  await logged("server", "the control plane is ready");
  const volume = await podman("volume", "inspect", "--format", "{{.Mountpoint}}", name("server"));
  user = await addUserAt(url, volume, jwtSecret);
}, 20 * minute);

afterAll(async () => {
  if (lack) return;
  await removeContainers();
}, 2 * minute);

test("the image says what it is, and what its layers weigh", async () => {
  const shown = await podman("run", "--rm", "--network", "host", image, "version", "--json");
  expect(JSON.parse(shown.slice(0, shown.indexOf("}") + 1))).toMatchObject({
    package: "image",
    commit,
    directory: "/opt/windlass",
  });
  const sizes = await podman("history", "--human=false", "--format", "{{.Size}}", image);
  process.stderr.write(`bytes of the layers, newest first: ${sizes.replaceAll("\n", " ")}\n`);
});

test("a health check that the engine does not run finds the server", async () => {
  expect(await podman("exec", name("server"), "windlass", "server", "health")).toContain("ok");
  await podman("exec", name("server"), "sh", "-c", "! WINDLASS_PORT=9 windlass server health");
});

describe("a runner with six capabilities and a read-only root", () => {
  test("runs a job as a user of its own, without capabilities, that cannot read the runner", async () => {
    await start("runner", [...asRoot, ...capabilities, ...hardened, ...(await asAgent())], "agent");
    await logged("runner", "isolation: uid");
    await logged("runner", "ready for jobs");
    const command = [
      "id -u",
      // No way to get one either: the bounding set alone stays, for lack of SETPCAP.
      "grep -E 'CapPrm|NoNewPrivs' /proc/self/status",
      "cat /var/lib/windlass-agent/identity.json || echo closed",
    ].join("; ");
    const files = {
      "main.tf": `resource "terraform_data" "a" {
        provisioner "local-exec" { command = ${JSON.stringify(command)} }
      }`,
    };
    const configuration_id = await user.configure({ source: { type: "inline", files } });
    const job = await user.queue({ job_type: "DEPLOY", configuration_id });
    expect(await ended(job)).toMatchObject({ status: "SUCCESS" });
    const log = await user.log(job);
    expect(log).toMatch(/18[89]\d{7}\b/);
    expect(log).toMatch(/CapPrm:\s+0{16}\b/);
    expect(log).toMatch(/NoNewPrivs:\s+1\b/);
    expect(log).toContain("closed");
    expect(await podman("exec", name("runner"), "windlass", "agent", "health")).toContain("ok");
    const doctor = await podman("exec", name("runner"), "windlass", "agent", "doctor");
    expect(doctor).toMatch(/^ok +isolation +uid .*systempaths=unconfined/m);
  });

  test("is stopped in the middle of an apply, and lets it end", async () => {
    const { job, finish } = await startHeldApply({ user, path });
    const stopped = podman("stop", name("runner"));
    await logged("runner", "waiting for the running ones");
    finish();
    await stopped;
    expect(await user.read(job)).toMatchObject({ status: "SUCCESS", attempt: 1 });
    const code = ["inspect", "--format", "{{.State.ExitCode}}", name("runner")];
    expect(await podman(...code)).toBe("0");
  });

  test("is killed in the middle of an apply, and says after its start that the outcome is unknown", async () => {
    await podman("start", name("runner"));
    const { job, finish } = await startHeldApply({ user, path });
    await podman("kill", "--signal", "KILL", name("runner"));
    await until(() => finish() ?? true);
    await podman("start", name("runner"));
    const failed = await ended(job);
    expect(failed).toMatchObject({ status: "FAILED" });
    expect(JSON.stringify(failed)).toContain("outcome unknown");
    await podman("rm", "--force", "--volumes", name("runner"));
  });

  // KILL is needed later: to interrupt the terraform of a job, which the next test does.
  test.each(uidCapabilities.filter((one) => one !== "KILL"))("needs %s", async (without) => {
    const others = uidCapabilities.filter((one) => one !== without);
    const options = [...asRoot, ...others.flatMap((one) => ["--cap-add", one]), ...hardened];
    const trial = ["run", "--rm", "--timeout", "60", "--network", "host", ...options];
    const failed = await podman(...trial, ...(await asAgent()), image, "agent").catch(
      (error) => error,
    );
    expect([1, 78]).toContain(failed.exitCode);
  });

  test("interrupts the terraform of a job", async () => {
    await start("other", [...asRoot, ...capabilities, ...hardened, ...(await asAgent())], "agent");
    try {
      const { job } = await startHeldApply({ user, path });
      await user.client.call("cancelJob", { params: { id: job.id } });
      await user.released(job);
      expect(await user.read(job)).toMatchObject({ status: "CANCELLED" });
      await until(() => processesOf(join(path, "gate")).length === 0);
    } finally {
      await podman("rm", "--force", "--volumes", "--time", "0", name("other"));
    }
  });
});

test("a runner as user 1000 refuses the level process unless a setting names it, and uses bubblewrap where it can", async () => {
  const options = ["run", "--rm", "--network", "host", ...(await asAgent())];
  const refused = await podman(...options, image, "agent").catch((error) => error);
  expect(refused).toMatchObject({ exitCode: 78 });
  expect(refused.stderr).toContain("with no capabilities but SETUID");
  const doctor = (...more: string[]) =>
    podman(...options, ...more, image, "agent", "doctor").catch(String);
  expect(await doctor("--env", "WINDLASS_ISOLATION=process")).toMatch(
    /warning +isolation +process/,
  );
  expect(await doctor("--security-opt", "unmask=ALL")).toMatch(/ok +isolation +bubblewrap/);
});

test("an agent of the machine runs jobs in containers, and is killed in the middle of an apply", async () => {
  const settings = {
    ...engine,
    WINDLASS_URL: url,
    WINDLASS_WORK_DIR: join(path, "work"),
    WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
    WINDLASS_ISOLATION: "container",
    WINDLASS_CONTAINER_ENGINE: "podman",
    WINDLASS_CONTAINER_IMAGE: image,
    // Podman raises the limit of descriptors with any other one, which machines may forbid.
    WINDLASS_JOB_FILE_MIB: "0",
    WINDLASS_JOB_PATHS: path,
  };
  let agent = startAgent(settings);
  try {
    const { job, finish } = await startHeldApply({ user, path });
    agent.kill("SIGKILL");
    await agent.exited;
    agent = startAgent(settings);
    await until(() => agent.log().includes("job found, continuing it"));
    finish();
    expect(await ended(job)).toMatchObject({ status: "SUCCESS", attempt: 1 });
    await user.released(job);
    expect(await podman("ps", "--all", "--quiet", "--filter", `label=windlass.job=${job.id}`)).toBe(
      "",
    );
    await until(() => readdirSync(join(path, "work/workspaces")).length === 0);
  } finally {
    agent.kill("SIGTERM");
    await agent.exited;
  }
});
