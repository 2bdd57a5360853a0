/** deploy/compose.yaml and its Caddyfile say what the programs and the image expect. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { uidCapabilities } from "../../agent/job/isolation/choose.ts";
import { controlPlane } from "../../common/settings/server.ts";
import { root } from "../helpers/project/source-files.ts";
import { imageStopSeconds, secondsOf, unknownSettings } from "./settings-in-files.ts";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly depends_on?: Readonly<Record<string, object>>;
  readonly stop_grace_period?: string;
  readonly volumes?: readonly string[];
  readonly user?: string;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, object>>;
  readonly volumes: Readonly<Record<string, null>>;
  readonly networks: { readonly default: { readonly ipam: { config: { subnet: string }[] } } };
}

const compose = parse(readFileSync(join(root, "deploy/compose.yaml"), "utf8"), {
  merge: true,
}) as Compose;
const caddyfile = readFileSync(join(root, "deploy/compose.Caddyfile"), "utf8");
const services = Object.entries(compose.services);
const ofRole = (role: string) =>
  services.filter(([, { image, command }]) => image === "windlass" && command?.[0] === role);
const servers = ofRole("server");
const runners = ofRole("agent");

test("compose.yaml names only settings that the server and the agent have", () => {
  expect([servers.length, runners.length]).toEqual([2, 2]);
  for (const [, { environment = {} }] of servers)
    expect(unknownSettings("server", Object.keys(environment))).toEqual([]);
  for (const [, { environment = {} }] of runners)
    expect(unknownSettings("agent", Object.keys(environment))).toEqual([]);
  expect(unknownSettings("agent", ["WINDLASS_NO_SUCH_SETTING"])).not.toEqual([]);
});

test("compose.yaml declares the secrets, volumes and services that it uses, and no other ones", () => {
  const used = services.flatMap(([, { secrets = [] }]) => secrets);
  expect(new Set(used)).toEqual(new Set(Object.keys(compose.secrets)));
  const paths = services.flatMap(([, { environment = {}, command = [] }]) =>
    [...Object.values(environment), ...command].flatMap(
      (text) => /\/run\/secrets\/([\w-]+)/.exec(text)?.[1] ?? [],
    ),
  );
  expect(new Set(paths)).toEqual(new Set(used));
  const volumes = services
    .flatMap(([, { volumes: mounts = [] }]) => mounts.map((mount) => mount.split(":")[0]!))
    .filter((name) => !name.startsWith("."));
  expect(new Set(volumes)).toEqual(new Set(Object.keys(compose.volumes)));
  for (const [, { depends_on = {} }] of services)
    for (const name of Object.keys(depends_on)) expect(compose.services).toHaveProperty(name);
});

test("the proxy sends requests to every server at its port, and the servers trust its network", () => {
  const upstreams = /reverse_proxy (.*) \{/.exec(caddyfile)?.[1]?.split(" ");
  expect(upstreams).toEqual(
    servers.map(([name]) => `${name}:${controlPlane.WINDLASS_PORT.default}`),
  );
  const subnet = compose.networks.default.ipam.config[0]?.subnet;
  for (const [, { environment }] of servers)
    expect(environment?.["WINDLASS_TRUSTED_PROXIES"]).toBe(subnet);
});

test("containers are stopped later than servers and agents need", () => {
  for (const [, { stop_grace_period = "" }] of servers)
    expect(secondsOf(stop_grace_period)).toBeGreaterThan(
      controlPlane.WINDLASS_DRAIN_SECONDS.default + 10,
    );
  for (const [, { stop_grace_period = "" }] of runners)
    expect(secondsOf(stop_grace_period) - imageStopSeconds()).toBeGreaterThan(660);
});

test("servers have no capabilities, and runners those that the level uid needs", () => {
  for (const [, { user, cap_drop, cap_add }] of servers)
    expect({ user, cap_drop, cap_add }).toEqual({ cap_drop: ["ALL"] });
  for (const [, { user, cap_drop, cap_add }] of runners)
    expect({ user, cap_drop, cap_add }).toEqual({
      user: "0:0",
      cap_drop: ["ALL"],
      cap_add: uidCapabilities,
    });
});
