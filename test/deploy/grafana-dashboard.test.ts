/** The Grafana dashboard names only metrics that the control plane and the agent have. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Contact } from "../../agent/api/contact.ts";
import { agentMetrics } from "../../agent/monitoring/metrics.ts";
import { ask } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { root } from "../helpers/project/source-files.ts";

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number };
    readonly targets?: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly query: unknown }[] };
}

const { plane } = planeForFile();
const text = readFileSync(join(root, "deploy/grafana-dashboard.json"), "utf8");
const dashboard = JSON.parse(text) as Dashboard;

/** Every name that a scrape of these metrics has. */
const namesIn = (scrape: string): string[] =>
  [...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = "", type]) =>
    type === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => name + end) : [name],
  );

const namedIn = (queries: string): string[] =>
  [...queries.matchAll(/\b(?:windlass|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name);

test("every metric of the dashboard exists, and every panel has a place of its own", async () => {
  const server = namesIn((await ask(plane, "GET", "/metrics")).text);
  const { read } = agentMetrics(
    {
      contact: new Contact(),
      isolation: "process",
      slots: 1,
      workDir: "/",
      running: () => 0,
      isDiskLow: () => false,
    },
    () => [],
  );
  const agent = namesIn(await read());
  const known = new Set([...server, ...agent]);
  const { panels, templating } = dashboard;
  const queries = [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...templating.list.map(({ query }) => JSON.stringify(query)),
  ];
  const named = namedIn(queries.join("\n"));
  expect(named.length).toBeGreaterThan(25);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  // The check itself finds a name that does not exist.
  expect(namedIn("rate(windlass_no_such_total[5m])").filter((name) => !known.has(name))).toEqual([
    "windlass_no_such_total",
  ]);
  // The other direction: what the control plane counts itself is shown.
  const own = server.filter(
    (name) => name.startsWith("windlass_") && !/_(sum|count|bucket)$/.test(name),
  );
  expect(own.filter((name) => !named.includes(name))).toEqual([]);
  const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
  expect(new Set(places).size).toBe(panels.length);
});
