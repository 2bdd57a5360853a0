import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drawingOf } from "../../../control-plane/domain/graph-layout.ts";
import { nodeLimit, viewOf, type GraphBox } from "../../../control-plane/domain/graph-view.ts";
import { ResourceGraph } from "../../../control-plane/domain/resource-graph.ts";

const graphOf = (resources: Readonly<Record<string, readonly string[]>>): ResourceGraph => {
  const graph = new ResourceGraph();
  for (const address of Object.keys(resources)) graph.add(address, 1);
  for (const [address, needs] of Object.entries(resources))
    for (const one of needs) graph.connect(address, one);
  return graph;
};
const open = { isOpen: true, flipped: new Set<string>() };
const closed = { isOpen: false, flipped: new Set<string>() };
const flip = (isOpen: boolean, ...modules: string[]) => ({ isOpen, flipped: new Set(modules) });

/** Nodes and edges of each open module by its address. */
const outline = ({ module, nodes, boxes, edges }: GraphBox): Record<string, unknown> => ({
  [module]: {
    nodes: nodes.map(({ id }) => id).toSorted(),
    edges: edges.map((edge) => edge.join(" > ")).toSorted(),
  },
  ...Object.assign({}, ...boxes.map(outline)),
});

const nested = graphOf({
  "a.root": [],
  "module.m.a.x": ["a.root"],
  "module.m.module.n.a.y": ["module.m.a.x", "a.root"],
  "module.k.a.z": ["module.m.module.n.a.y"],
});

describe("modules", () => {
  test("that are open contain their resources; arrows across them lead from box to box", () => {
    expect(outline(viewOf(nested, open).root)).toEqual({
      "": { nodes: ["a.root"], edges: ["module.k > module.m", "module.m > a.root"] },
      "module.m": { nodes: ["module.m.a.x"], edges: ["module.m.module.n > module.m.a.x"] },
      "module.m.module.n": { nodes: ["module.m.module.n.a.y"], edges: [] },
      "module.k": { nodes: ["module.k.a.z"], edges: [] },
    });
  });

  test("that are closed are one node with the number of their resources", () => {
    const { root } = viewOf(nested, closed);
    expect(outline(root)).toEqual({
      "": {
        nodes: ["a.root", "module.k", "module.m"],
        edges: ["module.k > module.m", "module.m > a.root"],
      },
    });
    expect(root.nodes.find(({ id }) => id === "module.m")).toMatchObject({
      kind: "module",
      name: "m",
      count: 2,
      needs: ["a.root"],
    });
  });

  test.each([
    ["one that is closed hides the modules in it", flip(true, "module.m"), ["", "module.k"]],
    ["one that is opened keeps those in it closed", flip(false, "module.m"), ["", "module.m"]],
    ["an unknown one changes nothing", flip(false, "module.x", "constructor"), [""]],
  ])("%s", (_, choice, boxes) => {
    expect(Object.keys(outline(viewOf(nested, choice).root)).toSorted()).toEqual(boxes);
  });
});

describe("arrows", () => {
  test("that others imply are left out", () => {
    const { root } = viewOf(graphOf({ "a.a": [], "a.b": ["a.a"], "a.c": ["a.a", "a.b"] }), open);
    expect(root.edges).toEqual([
      ["a.b", "a.a"],
      ["a.c", "a.b"],
    ]);
  });

  test("of a cycle stay", () => {
    const cycle = { "a.a": ["a.b"], "a.b": ["a.c"], "a.c": ["a.a"], "a.d": ["a.a", "a.b"] };
    expect(viewOf(graphOf(cycle), open).root.edges).toHaveLength(5);
  });

  test("beyond 1,500 are counted", () => {
    const names = Array.from({ length: 40 }, (_, at) => at);
    const graph = graphOf({
      ...Object.fromEntries(names.map((at) => [`a.a${at}`, []])),
      ...Object.fromEntries(names.map((at) => [`a.b${at}`, names.map((to) => `a.a${to}`)])),
    });
    const { root, edgesOmitted } = viewOf(graph, open);
    expect([root.edges.length, edgesOmitted]).toEqual([1500, 100]);
  });
});

describe(`more than ${nodeLimit} nodes`, () => {
  const many = (module: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${module}a.n${at}`, []]));

  test("close the modules", () => {
    const graph = graphOf({
      ...many("", 10),
      ...many("module.m.", 300),
      ...many("module.k.", 200),
    });
    const view = viewOf(graph, open);
    expect(view).toMatchObject({ isForced: true, resources: 510, modules: 2, nodesOmitted: 0 });
    expect(view.root.nodes).toHaveLength(12);
  });

  test("are left out and counted, those without a change first", () => {
    const graph = graphOf(many("", 510));
    for (const action of ["delete", "create"] as const)
      graph.add(`z.${action}`, 1)!.actions[action] = 1;
    const { root, nodesOmitted } = viewOf(graph, open);
    expect([root.nodes.length, nodesOmitted]).toEqual([500, 12]);
    expect(root.nodes.slice(0, 2).map(({ id }) => id)).toEqual(["z.delete", "z.create"]);
  });
});

test("any graph is drawn: each node once, inside the picture, and no two overlap", () => {
  const name = fc.constantFrom("a", "b", "module", "__proto__", "constructor");
  const module = fc.array(name, { maxLength: 3 });
  const address = fc
    .tuple(module, name, name)
    .map(([path, type, own]) => [...path.flatMap((one) => ["module", one]), type, own].join("."));
  const graph = fc.array(fc.tuple(address, fc.array(address, { maxLength: 4 })), { maxLength: 20 });
  fc.assert(
    fc.property(graph, fc.boolean(), fc.array(address), (resources, isOpen, flipped) => {
      const view = viewOf(graphOf(Object.fromEntries(resources)), flip(isOpen, ...flipped));
      const { nodes, width, height } = drawingOf(view);
      expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
      const shown = nodes.reduce(
        (sum, { kind, count }) => sum + (kind === "module" ? count : 1),
        0,
      );
      expect(shown + view.nodesOmitted).toBe(view.resources);
      for (const [at, one] of nodes.entries()) {
        expect(one.x >= 0 && one.y >= 0).toBe(true);
        expect(one.x + one.width <= width + 1 && one.y + one.height <= height + 1).toBe(true);
        for (const other of nodes.slice(at + 1))
          expect(
            one.x + one.width <= other.x + 1 ||
              other.x + other.width <= one.x + 1 ||
              one.y + one.height <= other.y + 1 ||
              other.y + other.height <= one.y + 1,
          ).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});
