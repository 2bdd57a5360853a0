/** Draws a resource graph from a state, and a plan. Loads dagre, which only the thread needs. */
import { drawingOf, type Drawing } from "../../domain/graph-layout.ts";
import { viewOf, type GraphChoice, type GraphView } from "../../domain/graph-view.ts";
import {
  addPlan,
  addState,
  ResourceGraph,
  type PlannedGraph,
} from "../../domain/resource-graph.ts";

export interface GraphSources {
  readonly state: Uint8Array | undefined;
  readonly plan?: PlannedGraph | undefined;
  readonly choice: GraphChoice;
}

export interface Graph {
  readonly view: GraphView;
  /** Undefined if the layout was given up. */
  readonly drawing: Drawing | undefined;
}

/** A step of the work, posted when it is done. */
export type Drawn = { readonly view: GraphView | "encrypted" } | { readonly drawing: Drawing };

/** Returns what is shown, and then its drawing; nothing else if OpenTofu has encrypted the state. */
export function* drawHere({ state, plan, choice }: GraphSources): Iterable<Drawn> {
  const graph = new ResourceGraph();
  const document =
    state === undefined ? {} : (JSON.parse(new TextDecoder().decode(state)) as object);
  if ("encrypted_data" in document) return yield { view: "encrypted" };
  if (plan) addPlan(graph, plan, document);
  else addState(graph, document);
  const view = viewOf(graph, choice);
  yield { view };
  yield { drawing: drawingOf(view) };
}
