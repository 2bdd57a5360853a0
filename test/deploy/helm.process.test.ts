/** deploy/helm/windlass, rendered by the real helm, follows the schemas of Kubernetes. */
import { join } from "node:path";
import { execa } from "execa";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Service } from "kubernetes-models/v1/Service";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { uidCapabilities } from "../../agent/job/isolation/choose.ts";
import { root } from "../helpers/project/source-files.ts";
import { lackOfProgram, skipAt } from "../helpers/project/tools.ts";
import { unknownSettings } from "./settings-in-files.ts";

const lack = lackOfProgram("helm");
skipAt(lack && `needs a program that go installs: ${lack}`);

const kinds = { ConfigMap, Deployment, PodDisruptionBudget, Service, StatefulSet };
const chart = join(root, "deploy/helm/windlass");
const required = ["image=registry.example.com/windlass:1", "publicUrl=https://w.example.com"];

interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string }[];
  readonly securityContext: { readonly capabilities: { readonly add?: readonly string[] } };
}
interface Resource {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly Container[] } };
    readonly jobTargetRef?: {
      readonly template: { readonly spec: { readonly containers: readonly Container[] } };
    };
  };
}

async function render(...values: readonly string[]): Promise<Resource[]> {
  const set = [...required, ...values].flatMap((value) => ["--set", value]);
  const { stdout } = await execa("helm", ["template", "windlass", chart, ...set]);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
}

const containersOf = ({ spec }: Resource): readonly Container[] =>
  (spec?.jobTargetRef?.template ?? spec?.template)?.spec.containers ?? [];

test.each([
  ["SQLite and runners with a volume", [], ["StatefulSet", "StatefulSet"]],
  ["PostgreSQL", ["server.secret=windlass-server"], ["Deployment", "StatefulSet"]],
  ["a Job for each queued job", ["runner.kind=jobs"], ["ScaledJob", "StatefulSet"]],
])("with %s it has resources that follow their schemas", async (_, values, expected) => {
  const resources = await render(...values);
  const workloads = resources.filter((one) => containersOf(one).length > 0);
  expect(workloads.map(({ kind }) => kind).toSorted()).toEqual(expected);
  for (const resource of resources)
    if (resource.kind in kinds)
      new kinds[resource.kind as keyof typeof kinds](resource as never).validate();
  const settings = resources.flatMap(({ kind, data }) =>
    kind === "ConfigMap" ? Object.keys(data ?? {}) : [],
  );
  for (const { name, env = [], securityContext } of workloads.flatMap(containersOf)) {
    const isRunner = name === "runner";
    const names = [...env.map((one) => one.name), ...(isRunner ? [] : settings)];
    expect(names.length).toBeGreaterThan(0);
    expect(unknownSettings(isRunner ? "agent" : "server", names)).toEqual([]);
    expect(securityContext.capabilities.add).toEqual(isRunner ? uidCapabilities : undefined);
  }
});

test("without a required value it says what the value is", async () => {
  const without = execa("helm", ["template", "windlass", chart, "--set", required[0]!]);
  await expect(without).rejects.toThrow(/publicUrl: the address at which people and runners reach/);
  await execa("helm", ["lint", chart, ...required.flatMap((value) => ["--set", value])]);
});
