/**
 * deploy/helm/windlass, rendered by the real helm, follows the schemas of Kubernetes and KEDA and says
 * what the programs expect.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ScaledJob } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledJob";
import { TriggerAuthentication } from "@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication";
import { execa } from "execa";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Service } from "kubernetes-models/v1/Service";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { uidCapabilities } from "../../agent/job/isolation/choose.ts";
import { controlPlane } from "../../common/settings/server.ts";
import { endpoints } from "../../protocol/endpoints.ts";
import { root } from "../helpers/project/source-files.ts";
import { lackOfProgram, skipAt } from "../helpers/project/tools.ts";
import { imageStopSeconds, unknownSettings } from "./settings-in-files.ts";

const lack = lackOfProgram("helm");
skipAt(lack && `needs a program that go installs: ${lack}`);

const kinds = {
  ConfigMap,
  Deployment,
  PodDisruptionBudget,
  ScaledJob,
  Service,
  StatefulSet,
  TriggerAuthentication,
};
type Kind = keyof typeof kinds;
const chart = join(root, "deploy/helm/windlass");
const guide = readFileSync(join(root, "docs/deploy.md"), "utf8");
const required = ["image=registry.example.com/windlass:1", "publicUrl=https://w.example.com"];
/** The values of the page, as helm reads them from its input. */
const documented = /```yaml\n(.*?)```/s.exec(guide)?.[1] ?? "";
const shared = ["--values", "-"];
const set = (...values: readonly string[]) =>
  [...required, ...values].flatMap((value) => ["--set", value]);

/** The resources of the chart with these values, each by its schema, and the pods of both programs. */
async function render(options: readonly string[]) {
  const args = ["template", "windlass", chart, ...options];
  const { stdout } = await execa("helm", args, { input: documented });
  const resources = parseAllDocuments(stdout).map((document) => {
    const resource = document.toJS() as { kind: Kind };
    const model = new kinds[resource.kind](resource as never);
    model.validate();
    return model;
  });
  const pods = resources.flatMap((resource) => {
    const job = resource instanceof ScaledJob ? resource.spec?.jobTargetRef : undefined;
    const isSet = resource instanceof Deployment || resource instanceof StatefulSet;
    const template = job?.template ?? (isSet ? resource.spec?.template : undefined);
    return template ? [template] : [];
  });
  const podOf = (name: string) => {
    const pod = pods.find(({ spec }) => spec?.containers[0]?.name === name)!;
    return { labels: pod.metadata?.labels, pod: pod.spec!, container: pod.spec!.containers[0]! };
  };
  const server = podOf("server");
  const runner = podOf("runner");
  return { resources, server, runner };
}

test.each([
  [
    "SQLite, runners with a volume",
    set(),
    ["ConfigMap", "Service", "Service", "StatefulSet", "StatefulSet"],
  ],
  [
    "PostgreSQL, by the values of docs/deploy.md",
    shared,
    ["ConfigMap", "Deployment", "PodDisruptionBudget", "Service", "Service", "StatefulSet"],
  ],
  [
    "a Job for each queued job",
    set("runner.kind=jobs", "runner.labels=a"),
    ["ConfigMap", "ScaledJob", "Service", "StatefulSet", "TriggerAuthentication"],
  ],
])("the chart with %s is what the programs expect", async (_, options, expected) => {
  const { resources, server, runner } = await render(options);
  expect(resources.map(({ kind }) => kind).toSorted()).toEqual(expected);

  const config = resources.flatMap((one) =>
    one instanceof ConfigMap ? Object.keys(one.data ?? {}) : [],
  );
  const namesIn = ({ container }: typeof server) => container.env?.map(({ name }) => name) ?? [];
  expect(unknownSettings("server", [...config, ...namesIn(server)])).toEqual([]);
  expect(unknownSettings("agent", namesIn(runner))).toEqual([]);
  expect(config.length).toBeGreaterThan(0);
  expect(namesIn(runner).length).toBeGreaterThan(2);

  const { livenessProbe, readinessProbe, startupProbe, ports } = server.container;
  expect(livenessProbe?.httpGet?.path).toBe(endpoints.readHealth.path);
  expect(startupProbe?.httpGet?.path).toBe(endpoints.readHealth.path);
  expect(readinessProbe?.httpGet?.path).toBe(endpoints.readReadiness.path);
  expect(ports?.[0]?.containerPort).toBe(controlPlane.WINDLASS_PORT.default);
  // At a port, a job could answer in its place, or keep it from answering.
  for (const probe of [runner.container.livenessProbe, runner.container.startupProbe])
    expect(probe?.exec?.command).toEqual(["windlass", "agent", "health"]);
  expect(runner.container.ports).toBeUndefined();
  // A runner is not restarted, nor taken out of anything, because the control plane is away.
  expect(runner.container.readinessProbe).toBeUndefined();

  // Pods are stopped later than servers and agents need.
  const pause = server.container.lifecycle?.preStop?.sleep?.seconds ?? 0;
  expect(server.pod.terminationGracePeriodSeconds).toBeGreaterThan(
    pause + controlPlane.WINDLASS_DRAIN_SECONDS.default + 10,
  );
  expect(runner.pod.terminationGracePeriodSeconds! - imageStopSeconds()).toBeGreaterThan(660);

  for (const resource of resources) {
    const spec = "spec" in resource ? resource.spec : undefined;
    const selector = spec && "selector" in spec ? spec.selector : undefined;
    if (!selector) continue;
    const labels = "matchLabels" in selector ? selector.matchLabels : selector;
    expect([server.labels, runner.labels]).toContainEqual(labels);
  }

  expect(server.pod.securityContext?.runAsNonRoot).toBe(true);
  expect(server.container.securityContext?.capabilities).toEqual({ drop: ["ALL"] });
  expect(runner.pod.securityContext?.runAsUser).toBe(0);
  expect(runner.container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"], add: uidCapabilities },
  });
});

test("servers have both roles of the database, and docs/deploy.md creates each secret file", async () => {
  const { server } = await render(shared);
  const files = Object.fromEntries(
    (server.container.env ?? []).map(({ name, value }) => [name, value]),
  );
  const mount = server.container.volumeMounts?.find(({ name }) => name === "secrets")?.mountPath;
  for (const name of ["WINDLASS_DATABASE_URL", "WINDLASS_DATABASE_OWNER_URL"])
    expect(files[`${name}_FILE`]).toMatch(mount!);
  const command = guide
    .split("\n\n")
    .find((text) => text.includes("create secret generic windlass-server"));
  const created = [...(command ?? "").matchAll(/--from-file=([\w-]+)=/g)].map(([, key]) => key);
  expect(created.map((key) => `${mount}/${key}`).toSorted()).toEqual(
    Object.values(files).map(String).toSorted(),
  );
});

test("a wrong or missing value is refused", async () => {
  await expect(render(set("runner.kind=jobs", "runner.maximum=many"))).rejects.toThrow(
    /maxReplica/,
  );
  const without = execa("helm", ["template", "windlass", chart, "--set", required[0]!]);
  await expect(without).rejects.toThrow(/publicUrl: the address at which people and runners reach/);
  await execa("helm", ["lint", chart, ...set()]);
});
