/** Closed modules are one node each. Limits a graph to 500 nodes before it is laid out. */
import type { PlanAction } from "../../protocol/plan-summary.ts";
import type { Edge, GraphResource, ResourceGraph } from "./resource-graph.ts";

export const nodeLimit = 500;
/** More arrows cannot be told apart, and each costs time in the layout. */
export const edgeLimit = 1500;

export interface GraphChoice {
  /** Whether modules are open that `flipped` does not name. */
  readonly isOpen: boolean;
  readonly flipped: ReadonlySet<string>;
}

/** A resource, or a closed module. */
export interface GraphNode {
  /** The address of the resource or the module. */
  readonly id: string;
  readonly kind: "resource" | "data" | "module";
  /** The type of a resource, or `module`. */
  readonly type: string;
  readonly name: string;
  /** Instances of the resource, or of the managed resources of the module. */
  readonly count: number;
  readonly actions: Partial<Record<PlanAction, number>>;
  /** The other nodes that it depends on, without those that follow from others. */
  readonly needs: readonly string[];
}

/** A module that is open, or the root module. */
export interface GraphBox {
  readonly module: string;
  readonly nodes: GraphNode[];
  readonly boxes: GraphBox[];
  /** Between nodes and open modules directly in this module. */
  readonly edges: readonly Edge[];
}

export interface GraphView {
  readonly root: GraphBox;
  readonly choice: GraphChoice;
  /** Whether modules were closed because there were too many nodes. */
  readonly isForced: boolean;
  /** Instances of managed resources, as everywhere else that counts resources. */
  readonly resources: number;
  readonly dataSources: number;
  readonly modules: number;
  /** Nodes and arrows beyond the limits. */
  readonly nodesOmitted: number;
  readonly edgesOmitted: number;
}

export const nodesIn = ({ nodes, boxes }: GraphBox): GraphNode[] => [
  ...nodes,
  ...boxes.flatMap(nodesIn),
];

export function viewOf(graph: ResourceGraph, wanted: GraphChoice): GraphView {
  const resources = [...graph.resources.values()];
  const asked = place(resources, wanted);
  const isForced = wanted.isOpen && asked.size > nodeLimit;
  const choice = isForced ? { isOpen: false, flipped: new Set<string>() } : wanted;
  const all = isForced ? place(resources, choice) : asked;
  const shown = new Map([...all].toSorted(inOrder).slice(0, nodeLimit));
  const idOf = new Map([...shown].flatMap(([id, of]) => of.map(({ address }) => [address, id])));
  const edges = reduced([...shown.keys()], edgesBetween(graph.edges, idOf));
  const kept = edges.slice(0, edgeLimit);
  const needs = Map.groupBy(kept, ([from]) => from);
  const nodes = [...shown].map(([id, of]) =>
    nodeOf(
      id,
      of,
      (needs.get(id) ?? []).map(([, to]) => to),
    ),
  );
  return {
    root: boxOf("", nodes, kept),
    choice,
    isForced,
    resources: instancesOf(resources, { isData: false }) + graph.omitted,
    dataSources: instancesOf(resources, { isData: true }),
    modules: new Set(resources.flatMap(({ module }) => modulesOn(module))).size,
    nodesOmitted: all.size - shown.size + graph.omitted,
    edgesOmitted: edges.length - kept.length,
  };
}

const instancesOf = (
  resources: readonly GraphResource[],
  { isData }: Pick<GraphResource, "isData">,
): number => resources.reduce((sum, one) => (one.isData === isData ? sum + one.instances : sum), 0);

/** By the node in which each is shown. */
const place = (
  resources: readonly GraphResource[],
  { isOpen, flipped }: GraphChoice,
): Map<string, GraphResource[]> =>
  Map.groupBy(
    resources,
    ({ address, module }) =>
      modulesOn(module).find((one) => flipped.has(one) === isOpen) ?? address,
  );

/** `module.a` and `module.a.module.b` for the latter. */
export function modulesOn(module: string): string[] {
  const parts = module.split(".");
  return parts
    .map((_, index) => parts.slice(0, index + 1).join("."))
    .filter((_, index) => index % 2 === 1);
}

const byRisk: readonly PlanAction[] = ["delete", "replace", "forget", "update", "create", "read"];
const rank = (resources: readonly GraphResource[]): number => {
  const found = byRisk.findIndex((action) => resources.some(({ actions }) => action in actions));
  return found === -1 ? byRisk.length : found;
};

/** What changes first, so that a limit leaves out what does not. */
const inOrder = (
  [a, ofA]: readonly [string, readonly GraphResource[]],
  [b, ofB]: readonly [string, readonly GraphResource[]],
): number => rank(ofA) - rank(ofB) || (a < b ? -1 : 1);

/** The edges of resources as edges of the nodes in which they are shown. */
function edgesBetween(edges: readonly Edge[], idOf: ReadonlyMap<string, string>): Edge[] {
  const seen = new Map<string, Set<string>>();
  for (const [from, to] of edges) {
    const [a, b] = [idOf.get(from), idOf.get(to)];
    if (a !== undefined && b !== undefined && a !== b)
      seen.set(a, (seen.get(a) ?? new Set()).add(b));
  }
  return [...seen].flatMap(([from, targets]) => [...targets].map((to): Edge => [from, to]));
}

/**
 * Leaves out every edge that others imply: a state lists indirect dependencies too. Nodes on a cycle
 * (closed modules may form one) keep their edges, so what is reachable stays reachable.
 */
function reduced(ids: readonly string[], edges: readonly Edge[]): Edge[] {
  const index = new Map(ids.map((id, at) => [id, at]));
  const words = (ids.length + 31) >>> 5;
  const rows = ids.map(() => new Uint32Array(words));
  const next = ids.map((): number[] => []);
  const reaches = (from: number, to: number): boolean =>
    ((rows[from]![to >>> 5]! >>> (to & 31)) & 1) === 1;
  const ends = edges.map(([from, to]) => [index.get(from)!, index.get(to)!] as const);
  for (const [from, to] of ends) {
    rows[from]![to >>> 5]! |= 1 << (to & 31);
    next[from]!.push(to);
  }
  for (const [via, row] of rows.entries())
    for (const [from, other] of rows.entries())
      if (reaches(from, via)) for (let at = 0; at < words; at++) other[at]! |= row[at]!;
  return edges.filter((_, at) => {
    const [from, to] = ends[at]!;
    return !next[from]!.some(
      (via) => via !== to && reaches(via, to) && !reaches(to, via) && !reaches(via, from),
    );
  });
}

function nodeOf(id: string, of: readonly GraphResource[], needs: readonly string[]): GraphNode {
  const [first] = of;
  const actions: GraphNode["actions"] = {};
  for (const one of of)
    for (const [action, count] of Object.entries(one.actions))
      actions[action as PlanAction] = (actions[action as PlanAction] ?? 0) + count;
  if (first?.address !== id) {
    const name = id.slice(id.lastIndexOf(".") + 1);
    const count = instancesOf(of, { isData: false });
    return { id, kind: "module", type: "module", name, count, actions, needs };
  }
  const { type, name, isData, instances: count } = first;
  return { id, kind: isData ? "data" : "resource", type, name, count, actions, needs };
}

/** A module with what is in it; `edges` are those between any nodes in it. */
function boxOf(module: string, nodes: readonly GraphNode[], edges: readonly Edge[]): GraphBox {
  const depth = module === "" ? 0 : module.split(".").length;
  /** The open module directly in this one that contains the node, or the node itself. */
  const itemOf = new Map(
    nodes.map(({ id, kind }) => {
      const parts = id.split(".");
      // The last part of a module's own address is its name.
      const isDeeper = parts[depth] === "module" && (kind !== "module" || parts.length > depth + 2);
      return [id, isDeeper ? parts.slice(0, depth + 2).join(".") : id];
    }),
  );
  const inside = Map.groupBy(nodes, ({ id }) => itemOf.get(id)!);
  const isHere = (node: GraphNode): boolean => itemOf.get(node.id) === node.id;
  const edgesIn = Map.groupBy(edges, ([from, to]) =>
    itemOf.get(from) === itemOf.get(to) ? itemOf.get(from)! : "",
  );
  const items = [...inside.keys()];
  return {
    module,
    nodes: nodes.filter(isHere),
    boxes: items
      .filter((item) => !nodes.some(({ id }) => id === item))
      .map((item) => boxOf(item, inside.get(item)!, edgesIn.get(item) ?? [])),
    edges: reduced(items, edgesBetween(edgesIn.get("") ?? [], itemOf)),
  };
}
