/** Podman, and the image of this checkout built by it. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { root } from "../project/source-files.ts";
import { lackOfProgram } from "../project/tools.ts";

/** Why no container can be started here, or these programs not; undefined: they can. */
export function lackOfEngine(...programs: readonly string[]): string | undefined {
  const lack = lackOfProgram("podman", "runc", "debootstrap", "flock", ...programs);
  const why = lack ?? (process.getuid?.() === 0 ? undefined : "the tests start it as root");
  return why && `needs a container engine (${why})`;
}

export const image = "localhost/windlass-peers";
const base = "docker.io/library/node:24-bookworm-slim";

/** Runs podman. Returns what it printed, errors after output; throws if it fails. */
export async function podman(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await execa("podman", args, { env, stdin: "ignore" });
  return `${stdout}\n${stderr}`.trim();
}

/**
 * For machines without systemd, with cgroups of both versions, which crun refuses, or with a limit
 * of descriptors below podman's own.
 */
const configuration = `
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
[network]
network_backend = "netavark"
`;
const env: Record<string, string> = {};

/** Writes podman's settings into this directory, for it and for agents that start it. */
export function configurePodman(directory: string): Readonly<Record<string, string>> {
  env["CONTAINERS_CONF"] = join(directory, "containers.conf");
  writeFileSync(env["CONTAINERS_CONF"], configuration);
  return env;
}

/** The start of the names of this run's containers, volumes and networks. */
export const prefix = `windlass-peers-${process.pid}`;

/** Removes what has such a name. */
export async function removeContainers(): Promise<void> {
  const own = ["--quiet", "--filter", `name=${prefix}`];
  const found = async (...list: string[]) =>
    (await podman(...list, ...own)).split("\n").filter((name) => name !== "");
  for (const id of await found("ps", "--all"))
    await podman("rm", "--force", "--volumes", "--time", "0", id);
  for (const name of await found("volume", "ls")) await podman("volume", "rm", name);
  for (const id of await found("network", "ls")) await podman("network", "rm", id);
}

/** What the image is built from, by its own account. */
export const commit = "0123456789ab";

let built: Promise<void> | undefined;
/** Builds the image by the Dockerfile, once. */
export const buildImage = (): Promise<void> => (built ??= build());

const isolated = ["--isolation", "chroot", "--network", "host", "--format", "docker"];

const pull = (name: string): Promise<boolean> =>
  podman("pull", "--quiet", name).then(
    () => true,
    () => false,
  );

/**
 * Returns an image of a registry, or one in its place, if no registry can be reached: the stage of
 * this name of test/fixtures/compose/Containerfile.
 */
export async function imageInPlaceOf(name: string, stage: string): Promise<string> {
  if (await pull(name)) return name;
  const [tag, context] = [`${image}-${stage}`, mkdtempSync(join(tmpdir(), "stand-ins-"))];
  try {
    cpSync(join(root, "test/fixtures/compose"), context, { recursive: true });
    const { stdout: gateway } = await execa("sh", ["-c", "command -v versitygw"]);
    cpSync(gateway, join(context, "versitygw"));
    await podman("build", ...isolated, "--target", stage, "--tag", tag, context);
  } finally {
    rmSync(context, { recursive: true });
  }
  return tag;
}

async function build(): Promise<void> {
  const isThere = await podman("image", "exists", base).then(
    () => true,
    () => pull(base),
  );
  if (!isThere) await makeBase();
  await podman("build", ...isolated, "--build-arg", `COMMIT=${commit}`, "--tag", image, root);
}

/**
 * Makes the base where no registry of images can be reached: Debian with this checkout's Node, the
 * machine's npm, and its settings of apt, npm and certificates.
 */
async function makeBase(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "base-"));
  try {
    await execa("debootstrap", [
      "--variant=minbase",
      "--include=ca-certificates",
      "bookworm",
      folder,
    ]);
    const settings = [
      "/etc/ssl/certs/ca-certificates.crt",
      "/etc/apt/sources.list.d",
      "/etc/apt/apt.conf.d",
      "/etc/resolv.conf",
    ];
    for (const path of settings) cpSync(path, join(folder, path), { recursive: true });
    const npmrc = process.env["NPM_CONFIG_USERCONFIG"] ?? join(homedir(), ".npmrc");
    if (existsSync(npmrc)) cpSync(npmrc, join(folder, "root/.npmrc"));
    const local = join(folder, "usr/local");
    cpSync(process.execPath, join(local, "bin/node"));
    // Its cache of compiled code would stay in the temporary directory.
    const env = { NODE_DISABLE_COMPILE_CACHE: "1" };
    const { stdout: modules } = await execa("npm", ["root", "--global"], { env });
    mkdirSync(join(local, "lib/node_modules"), { recursive: true });
    cpSync(join(modules, "npm"), join(local, "lib/node_modules/npm"), { recursive: true });
    symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(local, "bin/npm"));
    const authority = "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt";
    const archive = `${folder}.tar`;
    await execa("tar", ["-C", folder, "-cf", archive, "."]);
    await podman("import", "--change", authority, archive, base).finally(() => rmSync(archive));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
