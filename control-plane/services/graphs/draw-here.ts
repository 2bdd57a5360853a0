/** Draws a resource graph from a state. Loads dagre, which only the thread needs. */
import { drawingOf, type Drawing } from "../../domain/graph-layout.ts";
import { viewOf, type GraphChoice, type GraphView } from "../../domain/graph-view.ts";
import { addState, ResourceGraph } from "../../domain/resource-graph.ts";

export interface GraphSources {
  /** The bytes of a state. */
  readonly state: Uint8Array;
  readonly choice: GraphChoice;
}

export interface Graph {
  readonly view: GraphView;
  readonly drawing: Drawing;
}

/** Returns the graph; undefined if OpenTofu has encrypted the state. */
export function drawHere({ state, choice }: GraphSources): Graph | undefined {
  const document = JSON.parse(new TextDecoder().decode(state)) as object;
  if ("encrypted_data" in document) return undefined;
  const graph = new ResourceGraph();
  addState(graph, document);
  const view = viewOf(graph, choice);
  return { view, drawing: drawingOf(view) };
}
