/**
 * `npm run prove:machine`: what an operator does on a machine with systemd, by the commands of the
 * documents, from the packages to their removal. Each test continues where the one before it ended.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { call } from "../../protocol/transport.ts";
import type { Job } from "../../protocol/jobs.ts";
import { hour } from "../../common/units.ts";
import { version } from "../../common/version.ts";
import { realTerraform } from "../helpers/agent/terraform.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { lackOfMachine, makeDisk, VirtualMachine } from "../helpers/machine/virtual-machine.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { approve, bearer, cookieOf } from "../helpers/people/sign-in.ts";
import { userOf, type User } from "../helpers/people/user.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { ask, type Plane } from "../helpers/plane/plane.ts";
import { root } from "../helpers/project/source-files.ts";
import { skipAt } from "../helpers/project/tools.ts";

const lack = lackOfMachine();
skipAt(lack);
vi.setConfig({ testTimeout: hour });

/** Sandboxes hide what is below /tmp, and the Debian is kept for the next run. */
const folder = join(root, "node_modules/.cache/windlass-machine");
const place = folderForFile();
const next = "98.0.0";
const debian = (of: string): string => `windlass_${of}_amd64.deb`;
const tarball = (of: string): string => `windlass-${of}-linux-x64`;

let machine: VirtualMachine;
let url: string;
let user: User;
let windlass = "/opt/windlass/bin/windlass";

/** The packages of this checkout, or those that are in `WINDLASS_PACKAGES`, and of a next release. */
function makePackages(): string {
  // Without the cache that npm leaves in the temporary directory.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" };
  const run = (program: string, ...args: readonly string[]) => execFileSync(program, args, { env });
  const packages = join(place, "packages");
  const made = process.env["WINDLASS_PACKAGES"];
  if (made === undefined)
    run(process.execPath, join(root, "scripts/package.ts"), "--out", packages);
  else run("cp", "-r", made, packages);
  const renumber = (file: string): void =>
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(version(), next));
  const files = join(place, "next");
  mkdirSync(files);
  run("tar", "-xzf", join(packages, `${tarball(version())}.tar.gz`), "-C", files);
  renameSync(join(files, tarball(version())), join(files, tarball(next)));
  renumber(join(files, tarball(next), "package.json"));
  const archive = join(packages, `${tarball(next)}.tar.gz`);
  run("tar", "-cf", archive, "-I", "gzip -1", "-C", files, tarball(next));
  const raw = join(place, "debian");
  run("dpkg-deb", "--raw-extract", join(packages, debian(version())), raw);
  for (const file of ["DEBIAN/control", "usr/lib/windlass/package.json"]) renumber(join(raw, file));
  run("dpkg-deb", "-Zgzip", "-z1", "--build", raw, join(packages, debian(next)));
  const all = readdirSync(packages).filter((name) => name !== "SHA256SUMS");
  const sums = execFileSync("sha256sum", all, { cwd: packages });
  writeFileSync(join(packages, "SHA256SUMS"), sums);
  return packages;
}

beforeAll(async () => {
  if (lack) return;
  const terraform = join(place, "terraform");
  copyFileSync(realTerraform(), terraform);
  await makeDisk(folder, { "srv/packages": makePackages(), "usr/local/bin/terraform": terraform });
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  machine = new VirtualMachine(folder, port);
  await machine.boot();
}, hour);

afterAll(() => machine?.[Symbol.asyncDispose]());

const files = (command: string) => ({
  "main.tf": `resource "terraform_data" "a" {
    triggers_replace = timestamp()
    provisioner "local-exec" { command = ${JSON.stringify(command)} }
  }`,
});
async function deploy(command: string): Promise<Job> {
  const source = { type: "inline", files: files(command) };
  return user.queue({ job_type: "DEPLOY", configuration_id: await user.configure({ source }) });
}
const ended = (job: Job) => user.reaches(job, "SUCCESS", "FAILED", "CANCELLED");
async function logged(job: Job, text: string): Promise<void> {
  while (!(await user.log(job)).includes(text)) await sleep(500);
}
/** An apply that runs until `release` is called. */
async function heldApply(): Promise<{ job: Job; release(): Promise<unknown> }> {
  await machine.run("touch /srv/held/gate");
  const job = await deploy(
    "echo applying; echo for a while; while [ -e /srv/held/gate ]; do sleep 1; done; echo over",
  );
  await logged(job, "applying");
  return { job, release: () => machine.run("rm /srv/held/gate") };
}
const serverReady = async (): Promise<void> => {
  // systemd waits for READY=1, so nothing else waits for the server.
  await machine.run(`systemctl start windlass-server && curl -fsS ${url}/readyz`);
};
const journal = (unit: string, text: string): Promise<string> =>
  machine.run(
    `until journalctl -u ${unit} -o cat | grep -F '${text}' | tail -1 | grep .; do sleep 1; done`,
  );
/** Waits until an agent of this version has reported itself. */
async function agentHas(release: string): Promise<void> {
  for (;;) {
    const { workers } = await user.client.call("listWorkers");
    if (workers.some((worker) => worker.version === release)) return;
    await sleep(500);
  }
}
const installServices = async (token = ""): Promise<void> => {
  await machine.run(
    `sudo ${windlass} server install --public-url ${url} --host 0.0.0.0 --port ${new URL(url).port}`,
  );
  await serverReady();
  user ??= await signIn();
  const registration = token || (await user.registrationToken());
  await machine.run(
    `echo ${registration} | sudo ${windlass} agent install --url ${url} --registration-token-file -`,
  );
  await machine.run("systemctl start windlass-agent");
};

/** A person opens the link of the documents in a browser outside of the machine. */
async function signIn(): Promise<User> {
  const link = await machine.run(
    `sudo -u windlass-server env WINDLASS_DATA_DIR=/var/lib/windlass ${windlass} server login-link --email you@example.com`,
  );
  const cookie = cookieOf(await ask({ url }, "GET", new URL(link).pathname)) ?? "";
  const { device_code, verification_code } = await approve(
    { url },
    { headers: { cookie, origin: url } },
  );
  const body = { device_code, verification_code };
  const tokens = await call(url, "exchangeDeviceLogin", { body });
  const client = callsOf({ url }, bearer(tokens?.access_token ?? ""));
  const { id: zone } = await client.call("createZone", { body: { name: "main" } });
  // That of a login ends within the hour.
  const made = await client.call("createAccessToken", { body: { name: "proof", role: "admin" } });
  const headers = bearer(made.access_token);
  return userOf({ url } as Plane, { id: "", zone }, headers);
}

const began = Date.now();
afterEach(({ task }) => {
  const seconds = Math.round((Date.now() - began) / 1000);
  process.stderr.write(`=== ${seconds} s: ${task.name}: ${task.result?.state}\n`);
});

test("install.sh and the install commands set up services that are ready and limit jobs", async () => {
  await machine.run("systemctl --version | head -1; cat /etc/debian_version");
  await machine.run(`cd /srv/packages && sudo sh install.sh ${tarball(version())}.tar.gz`);
  await installServices();
  // On a busy machine an agent may need minutes to start; its jobs wait for it.
  await machine.run(`mkdir /srv/held && cat >> /etc/windlass/agent.env <<'END'
WINDLASS_JOB_PATHS=/srv/held
WINDLASS_JOB_MEMORY_MIB=400
WINDLASS_HEARTBEAT_SECONDS=5
END
echo WINDLASS_LOST_SECONDS=3600 >> /etc/windlass/server.env
systemctl restart windlass-server windlass-agent`);
  const doctor = await machine.run(
    `sudo systemd-run --pipe --wait --collect --uid=windlass-agent --property=EnvironmentFile=/etc/windlass/agent.env \\
  --setenv=STATE_DIRECTORY=/var/lib/windlass-agent ${windlass} agent doctor`,
  );
  expect(doctor).toMatch(/^ok +isolation +bubblewrap.* limits of the whole job/m);
  expect(await ended(await deploy("cat /proc/self/cgroup"))).toMatchObject({ status: "SUCCESS" });
  await machine.run("systemd-analyze security windlass-server windlass-agent --no-pager | tail -1");
});

test("a job that needs more memory than its limit fails with that reason", async () => {
  const job = await ended(await deploy("tail /dev/zero"));
  expect(job).toMatchObject({ status: "FAILED" });
  expect(job.error_message).toContain("the job used more memory than its limit (400 MiB");
  await machine.run("systemctl is-active windlass-agent");
});

test("install.sh upgrades both services while a job runs, which keeps its limits", async () => {
  const { job, release } = await heldApply();
  await machine.run(`cd /srv/packages && sudo sh install.sh ${tarball(next)}.tar.gz`);
  await machine.run("sudo systemctl restart windlass-server");
  await machine.run("sudo systemctl kill --signal=KILL --kill-whom=main windlass-agent");
  await agentHas(next);
  const limits = await machine.run(
    "cat /sys/fs/cgroup/system.slice/windlass-agent.service/job-*/memory.max",
  );
  expect(limits).toBe(String(400 * 1024 ** 2));
  await release();
  expect(await ended(job)).toMatchObject({ status: "SUCCESS", attempt: 1 });
});

test("a reboot waits for the running job, and both services are there afterwards", async () => {
  const job = await deploy("echo applying; echo for a while; sleep 60; echo over");
  await logged(job, "applying");
  await machine.shutDown();
  await machine.boot();
  await serverReady();
  expect(await user.read(job)).toMatchObject({ status: "SUCCESS" });
  expect(await ended(await deploy("true"))).toMatchObject({ status: "SUCCESS" });
});

test("a job whose machine has lost its power fails, with an outcome that is not known", async () => {
  const { job } = await heldApply();
  await machine.pullThePlug();
  await machine.boot();
  await serverReady();
  const result = await ended(job);
  process.stderr.write(`${result.status}: ${result.error_message}\n`);
  expect(result.status).toBe("FAILED");
  expect(result.error_message).toContain("the machine was restarted");
  expect(await user.log(job)).toContain("applying");
  expect(await ended(await deploy("true"))).toMatchObject({ status: "SUCCESS" });
});

test("server and agent say that the disk is full, and continue when it is not", async () => {
  await machine.run("dd if=/dev/zero of=/var/filler bs=1M; rm -f /var/none; df -h / | tail -1");
  const job = deploy("true").catch((error: Error) => error.message);
  await journal("windlass-agent", "too little disk space is free");
  await machine.run(`curl -sS ${url}/readyz`);
  process.stderr.write(`with a full disk: ${JSON.stringify(await job)}\n`);
  await machine.run("journalctl -u windlass-server -o cat | tail -3");
  await machine.run("rm /var/filler");
  await journal("windlass-agent", "enough disk space is free again");
  expect(await ended(await deploy("true"))).toMatchObject({ status: "SUCCESS" });
});

test("the Debian package takes over, and is upgraded while a job runs", async () => {
  windlass = "/usr/lib/windlass/bin/windlass";
  await machine.run(`sudo apt-get install -y /srv/packages/${debian(version())}`);
  await installServices("unused-token");
  const { job, release } = await heldApply();
  await machine.run(`sudo apt-get install -y /srv/packages/${debian(next)}`);
  await serverReady();
  await agentHas(next);
  await release();
  expect(await ended(job)).toMatchObject({ status: "SUCCESS", attempt: 1 });
});

test("the commands for the removal leave nothing", async () => {
  await machine.run(`sudo systemctl disable --now windlass-agent
sudo rm -rf /etc/systemd/system/windlass-agent.service /etc/sysusers.d/windlass-agent.conf /etc/windlass/agent.env \\
  /etc/credstore/windlass-agent.registration-token /etc/credstore/windlass-agent.worker-token /var/lib/windlass-agent
sudo systemctl daemon-reload
sudo userdel windlass-agent
sudo systemctl disable --now windlass-server
sudo rm -rf /etc/systemd/system/windlass-server.service /etc/sysusers.d/windlass-server.conf /etc/windlass/server.env /var/lib/windlass
sudo systemctl daemon-reload
sudo userdel windlass-server
sudo rm -r /opt/windlass /opt/windlass-* /usr/local/bin/windlass
sudo apt-get remove -y windlass`);
  const left = await machine.run(
    "find / -xdev -name '*windlass*' -not -path '/srv/*' -not -path '/var/log/*' -not -path '/var/lib/dpkg/*'; ps -eo user,args | grep [w]indlass || true",
  );
  expect(left).toBe("/etc/windlass");
});
