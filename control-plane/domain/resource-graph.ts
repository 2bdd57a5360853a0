/**
 * Resources and what they depend on. As in terraform's own graph, a resource is one node whatever
 * its number of instances, because dependencies name resources without the keys of instances.
 */
import type { PlanAction, PlanSummary } from "../../protocol/plan-summary.ts";

export interface GraphResource {
  /** Without keys of instances: `module.network.aws_subnet.a`. */
  readonly address: string;
  /** `module.network`; empty in the root module. */
  readonly module: string;
  readonly type: string;
  readonly name: string;
  readonly isData: boolean;
  instances: number;
  /** How many instances have each action of a plan. */
  readonly actions: Partial<Record<PlanAction, number>>;
}

/** From the resource that depends to the one that it depends on. */
export type Edge = readonly [from: string, to: string];

/** Bounds of what a hostile state or plan costs before the graph is cut to what is drawn. */
const resourceLimit = 20_000;
const edgeLimit = 100_000;
/** Longer addresses belong to no real resource. */
const textLimit = 1024;

/** A graph that is collected piece by piece, within bounds. */
export class ResourceGraph {
  readonly resources = new Map<string, GraphResource>();
  readonly #edges = new Map<string, Set<string>>();
  #edgeCount = 0;
  /** How many resources were left out because of the bound. */
  omitted = 0;

  /** Adds instances of a resource, and the resource if it is new. Keys in the address are removed. */
  add(keyed: string, instances: number): GraphResource | undefined {
    const address = withoutKeys(keyed);
    const known = this.resources.get(address);
    if (known) {
      known.instances += instances;
      return known;
    }
    const parts = address.length > textLimit ? null : addressPattern.exec(address)?.groups;
    if (!parts || this.resources.size === resourceLimit) {
      this.omitted++;
      return undefined;
    }
    const { module = "", data, type = "", name = "" } = parts;
    const isData = data !== undefined;
    const added = { address, module: module.slice(0, -1), type, name, isData, instances };
    const resource = { ...added, actions: {} };
    this.resources.set(address, resource);
    return resource;
  }

  connect(from: string, to: string): void {
    if (from === to || this.#edgeCount === edgeLimit) return;
    const targets = this.#edges.get(from) ?? new Set();
    if (targets.has(to)) return;
    this.#edges.set(from, targets.add(to));
    this.#edgeCount++;
  }

  get edges(): Edge[] {
    return [...this.#edges].flatMap(([from, targets]) =>
      this.resources.has(from)
        ? [...targets].filter((to) => this.resources.has(to)).map((to): Edge => [from, to])
        : [],
    );
  }
}

/** `module.a["x"].aws_instance.web[0]` without `["x"]` and `[0]`. */
export const withoutKeys = (address: string): string =>
  address.replaceAll(/\[(?:\d+|"(?:[^"\\]|\\.)*")\]/g, "");

const addressPattern =
  /^(?<module>(?:module\.[^.]+\.)*)(?<data>data\.)?(?<type>(?!module\.)[^.]+)\.(?<name>[^.]+)$/;

/** New addresses of instances that a plan moves, by their addresses in the state. */
type Moves = ReadonlyMap<string, string>;

/** Ignores what has another shape than format 4. Adds moved resources at their new address. */
export function addState(graph: ResourceGraph, state: unknown, moves: Moves = new Map()): void {
  const renamed = renamedResources(state, moves);
  for (const { address, instances } of resourcesOf(state)) {
    const places = Map.groupBy(instances, (instance) => {
      const stored = address + keyOf(instance);
      return withoutKeys(moves.get(stored) ?? stored);
    });
    if (places.size === 0) graph.add(address, 0);
    for (const [place, some] of places) {
      const added = graph.add(place, some.length);
      if (!added) continue;
      for (const instance of some)
        for (const dependency of listOf(recordOf(instance)["dependencies"]))
          if (typeof dependency === "string" && dependency.length <= textLimit) {
            const name = withoutKeys(dependency);
            for (const to of renamed.get(name) ?? [name]) graph.connect(added.address, to);
          }
    }
  }
}

/** The new addresses, without keys, of resources of which every instance moves. */
function renamedResources(state: unknown, moves: Moves): ReadonlyMap<string, ReadonlySet<string>> {
  const renamed = new Map<string, Set<string>>();
  if (moves.size === 0) return renamed;
  const staying = new Set<string>();
  for (const { address, instances } of resourcesOf(state))
    for (const instance of instances) {
      const to = moves.get(address + keyOf(instance));
      const name = withoutKeys(address);
      if (to === undefined) staying.add(name);
      else renamed.set(name, (renamed.get(name) ?? new Set()).add(withoutKeys(to)));
    }
  for (const name of staying) renamed.delete(name);
  return renamed;
}

export type PlannedGraph = Pick<PlanSummary, "changes" | "graph">;

/**
 * Adds a state, and what a plan does with resources and what those that change depend on. The other
 * resources and their dependencies come from the state. It may be older or newer than the plan, so
 * an instance of the plan is counted unless the state has it.
 */
export function addPlan(
  graph: ResourceGraph,
  { changes, graph: planned }: PlannedGraph,
  state: unknown,
): void {
  const stored = new Set<string>();
  for (const { address, instances } of resourcesOf(state))
    for (const instance of instances) stored.add(address + keyOf(instance));
  const moves = pendingMoves(changes, stored);
  addState(graph, state, moves);
  const missing = new Set(changes.map(({ address }) => address));
  for (const address of stored) missing.delete(moves.get(address) ?? address);
  for (const { address, action } of changes) {
    const resource = graph.add(address, missing.delete(address) ? 1 : 0);
    if (resource) resource.actions[action] = (resource.actions[action] ?? 0) + 1;
  }
  for (const { address, needs } of planned ?? [])
    for (const needed of needs) graph.connect(address, needed);
}

/** Moves whose old address exists and whose new one is free or becomes free by another move. */
function pendingMoves(changes: PlannedGraph["changes"], stored: ReadonlySet<string>): Moves {
  const moves = new Map(
    changes.flatMap(({ address, previous_address: old }) =>
      old !== undefined && stored.has(old) ? [[old, address] as const] : [],
    ),
  );
  const movesTo = Map.groupBy(moves, ([, address]) => address);
  const blocked = [...moves].filter(([, address]) => stored.has(address) && !moves.has(address));
  // What does not move blocks those that would move to its address.
  for (const [old] of blocked) {
    moves.delete(old);
    blocked.push(...(movesTo.get(old) ?? []));
  }
  return moves;
}

/** The resources of a state; the address has the keys of modules and not that of an instance. */
function* resourcesOf(
  state: unknown,
): Iterable<{ readonly address: string; readonly instances: readonly unknown[] }> {
  for (const resource of listOf(recordOf(state)["resources"])) {
    const { mode, module, type, name, instances } = recordOf(resource);
    if (typeof type !== "string" || typeof name !== "string") continue;
    const prefix = typeof module === "string" ? `${module}.` : "";
    const address = `${prefix}${mode === "data" ? "data." : ""}${type}.${name}`;
    yield { address, instances: listOf(instances) };
  }
}

/** `[0]` or `["a"]`. */
const keyOf = (instance: unknown): string => {
  const { index_key: key } = recordOf(instance);
  return typeof key === "string" || typeof key === "number" ? `[${JSON.stringify(key)}]` : "";
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
