/** deploy/kubernetes.yaml follows the schemas of Kubernetes and says what the programs expect. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import type { IPodTemplateSpec } from "kubernetes-models/v1/PodTemplateSpec";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Namespace } from "kubernetes-models/v1/Namespace";
import { Service } from "kubernetes-models/v1/Service";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { uidCapabilities } from "../../agent/job/isolation/choose.ts";
import { controlPlane } from "../../common/settings/server.ts";
import { endpoints } from "../../protocol/endpoints.ts";
import { root } from "../helpers/project/source-files.ts";
import { imageStopSeconds, unknownSettings } from "./settings-in-files.ts";

const kinds = { ConfigMap, Deployment, Namespace, PodDisruptionBudget, Service, StatefulSet };
type Kind = keyof typeof kinds;

const documents = parseAllDocuments(readFileSync(join(root, "deploy/kubernetes.yaml"), "utf8")).map(
  (document) => document.toJS() as { kind: Kind },
);
const resourcesOf = <K extends Kind>(kind: K) =>
  documents
    .filter((document) => document.kind === kind)
    .map((document) => new kinds[kind](document as never) as InstanceType<(typeof kinds)[K]>);

const only = <T>(list: readonly T[]): T => {
  expect(list).toHaveLength(1);
  return list[0]!;
};
const server = only(resourcesOf("Deployment"));
const runner = only(resourcesOf("StatefulSet"));
const podOf = ({ spec }: { spec?: { template: IPodTemplateSpec } }) => spec!.template.spec!;
const containerOf = (resource: typeof server | typeof runner) =>
  only(podOf(resource as { spec: { template: IPodTemplateSpec } }).containers);

test("every resource follows its schema", () => {
  for (const document of documents) new kinds[document.kind](document as never).validate();
  const wrong = { ...documents.find(({ kind }) => kind === "Deployment"), spec: { replicas: "2" } };
  expect(() => new Deployment(wrong as never).validate()).toThrow(/replicas/);
});

test("the manifests name only settings that the server and the agent have", () => {
  const config = Object.keys(only(resourcesOf("ConfigMap")).data ?? {});
  const namesIn = (resource: typeof server | typeof runner) =>
    containerOf(resource).env?.map(({ name }) => name) ?? [];
  expect(config.length).toBeGreaterThan(2);
  expect(unknownSettings("server", [...config, ...namesIn(server)])).toEqual([]);
  expect(namesIn(runner).length).toBeGreaterThan(2);
  expect(unknownSettings("agent", namesIn(runner))).toEqual([]);
});

test("probes ask for the health and the readiness at the ports where they are served", () => {
  const { livenessProbe, readinessProbe, startupProbe, ports } = containerOf(server);
  expect(livenessProbe?.httpGet?.path).toBe(endpoints.readHealth.path);
  expect(startupProbe?.httpGet?.path).toBe(endpoints.readHealth.path);
  expect(readinessProbe?.httpGet?.path).toBe(endpoints.readReadiness.path);
  expect(ports?.[0]?.containerPort).toBe(controlPlane.WINDLASS_PORT.default);
  const agent = containerOf(runner);
  // At a port, a job could answer in its place, or keep it from answering.
  for (const probe of [agent.livenessProbe, agent.startupProbe])
    expect(probe?.exec?.command).toEqual(["windlass", "agent", "health"]);
  expect(agent.ports).toBeUndefined();
  // A runner is not restarted, nor taken out of anything, because the control plane is away.
  expect(agent.readinessProbe).toBeUndefined();
});

test("pods are stopped later than servers and agents need", () => {
  const pause = containerOf(server).lifecycle?.preStop?.sleep?.seconds ?? 0;
  expect(podOf(server).terminationGracePeriodSeconds).toBeGreaterThan(
    pause + controlPlane.WINDLASS_DRAIN_SECONDS.default + 10,
  );
  expect(podOf(runner).terminationGracePeriodSeconds! - imageStopSeconds()).toBeGreaterThan(660);
});

test("services and the disruption budget select the pods", () => {
  const labels = [server, runner].map(({ spec }) => spec!.template.metadata!.labels!);
  const selectors = [
    ...resourcesOf("Service").map(({ spec }) => spec?.selector),
    only(resourcesOf("PodDisruptionBudget")).spec?.selector?.matchLabels,
    server.spec?.selector.matchLabels,
    runner.spec?.selector.matchLabels,
  ];
  for (const selector of selectors) expect(labels).toContainEqual(selector);
});

test("servers have no privileges, and runners the capabilities that the level uid needs", () => {
  expect(podOf(server).securityContext?.runAsNonRoot).toBe(true);
  expect(containerOf(server).securityContext?.capabilities).toEqual({ drop: ["ALL"] });
  expect(podOf(runner).securityContext?.runAsUser).toBe(0);
  expect(containerOf(runner).securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"], add: uidCapabilities },
  });
});

test("servers have both roles of the database, and docs/deploy.md creates each secret file", () => {
  const files = Object.fromEntries(
    (containerOf(server).env ?? []).map(({ name, value }) => [name, value]),
  );
  const mount = containerOf(server).volumeMounts?.find(({ name }) => name === "secrets")?.mountPath;
  for (const name of ["WINDLASS_DATABASE_URL", "WINDLASS_DATABASE_OWNER_URL"])
    expect(files[`${name}_FILE`]).toMatch(mount!);
  const command = readFileSync(join(root, "docs/deploy.md"), "utf8")
    .split("\n\n")
    .find((text) => text.includes("create secret generic windlass-server"));
  const created = [...(command ?? "").matchAll(/--from-file=([\w-]+)=/g)].map(([, key]) => key);
  expect(created.map((key) => `${mount}/${key}`).toSorted()).toEqual(
    Object.values(files).map(String).toSorted(),
  );
});
