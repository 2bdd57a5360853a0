/** deploy/compose.yaml as containers, started by the commands of docs/deploy.md. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { minute } from "../../common/units.ts";
import { shellBlocks } from "../acceptance/documented-commands.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { startHeldApply } from "../helpers/agent/held-apply.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import {
  buildImage,
  configurePodman,
  image,
  imageInPlaceOf,
  lackOfEngine,
  podman,
  prefix,
  removeContainers,
} from "../helpers/machine/podman.ts";
import { bearer, cookieOf, signIn } from "../helpers/people/sign-in.ts";
import { userOf, type User } from "../helpers/people/user.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { ask, type Plane } from "../helpers/plane/plane.ts";
import { root } from "../helpers/project/source-files.ts";
import { skipAt } from "../helpers/project/tools.ts";

const lack = lackOfEngine("podman-compose", "versitygw");
skipAt(lack);

const path = folderForFile();
const engine = configurePodman(path);
const folder = join(path, "deploy");
/** For such a name Caddy is its own authority. */
const host = "windlass.local";
const authority = join(path, "authority.pem");
const name = (service: string): string => `${prefix}_${service}_1`;
const before = getGlobalDispatcher();

let user: User;
const settings: Record<string, string> = { ...engine, WINDLASS_HOSTNAME: host };
const compose = async (...words: string[]): Promise<string> => {
  const files = ["--file", "compose.yaml", "--file", "here.yaml"];
  const args = ["--project-name", prefix, ...files, ...words];
  return (await execa("podman-compose", args, { cwd: folder, env: settings })).stdout;
};
/**
 * Podman before 4.6 does not wait for the health of another container, and does not start one whose
 * dependency has ended: the order of `depends_on` is the test's.
 */
const up = (...services: string[]) =>
  compose("--profile", "runner", "up", "--no-build", "--detach", "--no-deps", ...services);
const healthy = async (service: string): Promise<void> => {
  while ((await podman("healthcheck", "run", name(service)).catch(() => "not yet")) === "not yet")
    await sleep(200);
};
const inspect = (what: string, service: string) =>
  podman("inspect", "--format", `{{${what}}}`, name(service));

beforeAll(async () => {
  if (lack) return;
  await buildImage();
  cpSync(join(root, "deploy"), folder, { recursive: true });
  const { services } = parse(readFileSync(join(folder, "compose.yaml"), "utf8"), { merge: true });
  const terraform = execFileSync("sh", ["-c", "command -v terraform"]).toString().trim();
  const foreign = async (service: string, stage: string) => {
    const named: string = services[service].image;
    const full = `docker.io/${named.includes("/") ? "" : "library/"}${named}`;
    return { image: await imageInPlaceOf(full, stage) };
  };
  const server = { image };
  const runner = {
    image,
    environment: { SSL_CERT_FILE: authority },
    volumes: [
      `${terraform}:/usr/local/bin/terraform:ro`,
      // The file that holds an apply.
      `${path}:${path}`,
    ],
  };
  const here = {
    proxy: { ...(await foreign("proxy", "caddy")), networks: { default: { aliases: [host] } } },
    database: await foreign("database", "postgres"),
    storage: await foreign("storage", "minio"),
    bucket: await foreign("bucket", "minio"),
    "server-1": server,
    "server-2": server,
    "runner-1": runner,
    "runner-2": runner,
  };
  // Other programs of this machine may have the ports.
  const text = stringify({ services: here }, { aliasDuplicateObjects: false });
  writeFileSync(join(folder, "here.yaml"), text.replace("  proxy:", "$&\n    ports: !override []"));
  const documented = shellBlocks(readFileSync(join(root, "docs/deploy.md"), "utf8"));
  const [secrets = ""] = /^mkdir[^]*(?=^export)/m.exec(documented.join("")) ?? [];
  await execa("sh", ["-euc", secrets], { cwd: folder });

  await up("database", "storage");
  await Promise.all([healthy("database"), healthy("storage")]);
  await up("bucket");
  if (!(await podman("wait", name("bucket"))).startsWith("0")) throw new Error("no bucket");
  await up("server-1", "server-2", "proxy");
  await Promise.all([healthy("server-1"), healthy("server-2")]);

  const volume = ["volume", "inspect", "--format", "{{.Mountpoint}}", `${prefix}_certificates`];
  const file = join(await podman(...volume), "caddy/pki/authorities/local/root.crt");
  await until(() => existsSync(file));
  // Only root reads that one, and jobs need it too.
  copyFileSync(file, authority);
  chmodSync(authority, 0o644);
  const address = await inspect("range .NetworkSettings.Networks}}{{.IPAddress}}{{end", "proxy");
  const ca = readFileSync(authority);
  const lookup = (_: string, __: object, done: (error: null, found: object[]) => void) =>
    done(null, [{ address, family: 4 }]);
  setGlobalDispatcher(new Agent({ connect: { ca, lookup: lookup as never } }));
}, 10 * minute);

afterAll(async () => {
  if (lack) return;
  await getGlobalDispatcher().close();
  setGlobalDispatcher(before);
  await removeContainers();
}, 2 * minute);

const plane = { url: `https://${host}` } as Plane;

test("the first person signs in by the link that a server prints", async () => {
  const words = ["windlass", "server", "login-link", "--email", "ada@example.com"];
  const printed = await compose("exec", "-T", "server-1", ...words);
  const [, link = ""] = new RegExp(`${plane.url}(/login/link/\\S+)`).exec(printed) ?? [];
  const cookie = cookieOf(await ask(plane, "GET", link)) ?? "";
  const { access_token } = await signIn(plane, { headers: { cookie, origin: plane.url } });
  const headers = bearer(access_token);
  const zone = await callsOf(plane, headers).call("createZone", { body: { name: "ours" } });
  user = userOf(plane, { id: "ada", zone: zone.id }, headers);
});

test("two runners register, and one finishes an apply while its server is killed", async () => {
  const { registration_token } = await user.client.call("createRegistrationToken", {
    body: { uses: 2 },
  });
  settings["WINDLASS_REGISTRATION_TOKEN"] = registration_token;
  await up("runner-1", "runner-2");
  await Promise.all([healthy("runner-1"), healthy("runner-2")]);
  const { job, finish } = await startHeldApply({ user, path });
  await podman("kill", "--signal", "KILL", name("server-1"));
  // The other one has all of them.
  expect(await user.read(job)).toMatchObject({ status: "PROCESSING" });
  finish();
  await user.released(job);
  expect(await user.read(job)).toMatchObject({ status: "SUCCESS", attempt: 1 });
  expect(await user.log(job)).toMatch(/applying[^]*Apply complete!/);
  await podman("start", name("server-1"));
  await healthy("server-1");
});
