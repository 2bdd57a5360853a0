/** How far the apply of a job has come, on its graph. */
import { modulesOn } from "../../domain/graph-view.ts";
import { withoutKeys } from "../../domain/resource-graph.ts";
import type { Applied } from "../../services/logs/resources.ts";
import { html, type Html } from "../page/html.ts";
import type { NodeState } from "./graph-words.ts";

/** Returns the state of each resource that the apply has reached, and of the modules around it. */
export function statesOf({ rows, planned }: Applied): Map<string, NodeState> {
  const left = new Map<string, number>();
  for (const address of planned.keys())
    for (const node of nodesOf(address)) left.set(node, (left.get(node) ?? 0) + 1);
  const states = new Map<string, NodeState>();
  for (const { address, state } of rows)
    for (const node of nodesOf(address)) {
      const rest = (left.get(node) ?? 1) - (state === "done" ? 1 : 0);
      left.set(node, rest);
      if (state === "failed" || states.get(node) === "failed") states.set(node, "failed");
      else states.set(node, rest > 0 ? "running" : "done");
    }
  return states;
}

/** The nodes that stand for a resource: its own, and those of the modules around it. */
function nodesOf(address: string): string[] {
  const node = withoutKeys(address);
  const [module = ""] = /^(?:module\.[^.]+\.)*/.exec(node) ?? [];
  return [node, ...modulesOn(module.slice(0, -1))];
}

/** A script gives the nodes of the drawing these states. */
export const progressView = (words: string, states: ReadonlyMap<string, NodeState>): Html =>
  html`<div id="graph-progress" data-live>
    <p class="soft">${words}</p>
    <ul hidden>
      ${[...states].map(([node, state]) => html`<li data-node="${node}" class="${state}"></li>`)}
    </ul>
  </div>`;
