/** Draws a resource graph from a state, and a plan. Loads dagre, which only the thread needs. */
import { drawingOf, type Drawing } from "../../domain/graph-layout.ts";
import { viewOf, type GraphChoice, type GraphView } from "../../domain/graph-view.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { addPlan, addState, ResourceGraph } from "../../domain/resource-graph.ts";

export interface GraphSources {
  /** The bytes of a state; undefined if there is none. */
  readonly state: Uint8Array | undefined;
  readonly plan?: Pick<PlanSummary, "changes"> | undefined;
  readonly choice: GraphChoice;
}

export interface Graph {
  readonly view: GraphView;
  readonly drawing: Drawing;
}

/** Returns the graph; undefined if OpenTofu has encrypted the state. */
export function drawHere({ state, plan, choice }: GraphSources): Graph | undefined {
  const graph = new ResourceGraph();
  if (state !== undefined) {
    const document = JSON.parse(new TextDecoder().decode(state)) as object;
    if ("encrypted_data" in document) return undefined;
    addState(graph, document);
  }
  if (plan) addPlan(graph, plan);
  const view = viewOf(graph, choice);
  return { view, drawing: drawingOf(view) };
}
