/** What resources need, from configurations as `show -json` writes them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Check } from "typebox/value";
import { describe, expect, test } from "vitest";
import { readPlan } from "../../../../agent/job/plan/json.ts";
import { secrecyOf } from "../../../../common/redaction/secrecy.ts";
import { planGraphCount, planGraphLimit } from "../../../../protocol/limits.ts";
import { PlanSummary } from "../../../../protocol/plan-summary.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();
let files = 0;
const nested = `${"[".repeat(20_000)}{"references":["a.deep"]}${"]".repeat(20_000)}`;

/** The graph of a plan that creates these resources of this root module. */
async function graphOf(creates: string[], root_module: unknown) {
  const file = join(root, `${(files += 1)}.json`);
  const change = { actions: ["create"] };
  const resource_changes = creates.map((address) => ({ address, change }));
  const text = JSON.stringify({ resource_changes, configuration: { root_module } });
  writeFileSync(file, text.replace('"nested"', nested));
  const { summary } = await readPlan(file, secrecyOf(["hunter22"]));
  expect(Check(PlanSummary, summary)).toBe(true);
  return summary.graph;
}

const resource = (address: string, references: string[] = [], more: object = {}) => {
  const [type, name] = address.replace(/^data\./, "").split(".");
  const mode = address.startsWith("data.") ? "data" : "managed";
  return { address, mode, type, name, expressions: { input: { references } }, ...more };
};

describe("a resource needs", () => {
  test("what its arguments, blocks, count and depends_on name, once and without attributes", async () => {
    const graph = await graphOf(["a.x[0]", "a.x[1]"], {
      resources: [
        {
          ...resource("a.x", ["b.one.id", "b.one", "var.v", "local.l", "each.key"]),
          expressions: {
            constant_value: { references: ["b.none"] },
            tags: { constant_value: { references: ["b.none"] } },
            block: [{ deep: [{ value: { references: ['b.two["k.k"].id', "b.two"] } }] }],
            references: { references: ["b.three.list[0].id"] },
          },
          count_expression: { references: ["data.c.count.size", "data.c.count"] },
          depends_on: ["a.x", "b.four"],
        },
        ...["b.one", "b.two", "b.three", "b.four", "b.none"].map((one) => resource(one)),
        resource("data.c.count"),
      ],
    });
    expect(graph).toEqual([
      { address: "a.x", needs: ["b.four", "b.three", "b.two", "data.c.count"] },
    ]);
  });

  test("what it names through arguments and outputs of modules, at any level", async () => {
    const graph = await graphOf(["module.app[0].module.web.a.server", "a.after", "a.all"], {
      resources: [
        resource("a.net"),
        resource("a.after", ["module.app[0].address", "module.app[0]", "module.app"]),
        resource("a.all", [], { depends_on: ["module.app"] }),
      ],
      module_calls: {
        app: {
          expressions: { network: { references: ["a.net.id", "a.net"] } },
          depends_on: ["a.first"],
          module: {
            outputs: { address: { expression: { references: ["module.web.ip", "module.web"] } } },
            resources: [resource("a.disk")],
            module_calls: {
              web: {
                expressions: { subnet: { references: ["var.network"] } },
                module: {
                  outputs: { ip: { expression: { references: ["a.server.ip", "a.server"] } } },
                  resources: [resource("a.server", ["var.subnet"])],
                },
              },
            },
          },
        },
      },
    });
    expect(graph).toEqual([
      { address: "module.app.module.web.a.server", needs: ["a.net"] },
      { address: "a.after", needs: ["module.app.module.web.a.server"] },
      { address: "a.all", needs: ["module.app.a.disk", "module.app.module.web.a.server"] },
    ]);
  });

  test("what a data source needs that it reads, because that may not be in the graph", async () => {
    const resources = [
      resource("a.x", ["data.d.y.id", "data.d.y"]),
      resource("data.d.y", ["a.z.id", "a.z"]),
      resource("a.z"),
    ];
    expect(await graphOf(["a.x"], { resources })).toEqual([
      { address: "a.x", needs: ["a.z", "data.d.y"] },
    ]);
  });

  test("the resources that its whole module depends on", async () => {
    const module = { resources: [resource("a.in")] };
    const call = { depends_on: ["a.out"], for_each_expression: { references: ["a.keys.ids"] } };
    const graph = await graphOf(['module.m["k"].a.in'], {
      resources: [resource("a.out"), resource("a.keys")],
      module_calls: { m: { ...call, module } },
    });
    expect(graph).toEqual([{ address: "module.m.a.in", needs: ["a.keys", "a.out"] }]);
  });
});

describe("a hostile configuration", () => {
  test("with cycles between modules ends", async () => {
    const module = {
      outputs: { o: { expression: { references: ["var.v", "module.in.o"] } } },
      resources: [resource("a.x", ["var.v"])],
    };
    const call = (other: string) => ({
      expressions: { v: { references: [`module.${other}.o`] } },
      module,
    });
    const module_calls = { one: call("two"), two: call("one") };
    expect(await graphOf(["module.one.a.x"], { module_calls })).toEqual([]);
  });

  test.each([
    ["null", null],
    ["a list", [1]],
    ["resources of other types", { resources: [null, 1, "x", {}, { expressions: [[[null]]] }] }],
    [
      "calls of other types",
      { module_calls: { __proto__: null, constructor: { expressions: 1, depends_on: "x" } } },
    ],
    ["references of other types", { resources: [resource("a.x", [1, null] as never)] }],
  ])("of %s has no arrows", async (_, module) => {
    expect(await graphOf(["a.x"], module)).toEqual([]);
  });

  test("with nested blocks, many references and long names is cut", async () => {
    const names = Array.from({ length: 300 }, (_, at) => `a.n${at}`);
    const long = `a.${"x".repeat(5000)}`;
    const graph = await graphOf([...names, "a.deeper", "a.secret"], {
      resources: [
        ...names.map((one) => resource(one, [...names, long])),
        resource(long),
        resource("a.deep"),
        resource("a.deeper", [], { expressions: { blocks: "nested" } }),
      ],
    });
    const edges = graph?.flatMap(({ needs }) => needs) ?? [];
    expect(edges.length).toBeGreaterThan(1000);
    expect(edges.length).toBeLessThanOrEqual(planGraphCount);
    expect(edges).not.toContain("a.deep");
    expect(JSON.stringify(graph).length).toBeLessThanOrEqual(planGraphLimit);
  });

  test("has no secret in its graph", async () => {
    const resources = [resource("a.x", ["a.hunter22"]), resource("a.hunter22")];
    expect(await graphOf(["a.x"], { resources })).toEqual([{ address: "a.x", needs: ["a.***"] }]);
  });
});
