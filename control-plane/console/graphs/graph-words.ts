import type { PlanAction } from "../../../protocol/plan-summary.ts";
import type { GraphNode } from "../../domain/graph-view.ts";

/** In the order of what can go wrong. */
const signs: readonly (readonly [action: PlanAction, sign: string, word: string])[] = [
  ["delete", "−", "to destroy"],
  ["replace", "±", "to replace"],
  ["forget", "○", "to forget"],
  ["update", "~", "to change"],
  ["create", "+", "to create"],
  ["read", "↓", "to read"],
  ["none", "→", "to move or import"],
];

/** `−1 +2`; empty if nothing changes. */
export const actionsText = (actions: GraphNode["actions"]): string =>
  signs
    .filter(([action]) => actions[action] !== undefined)
    .map(([action, sign]) => `${sign}${actions[action]}`)
    .join(" ");

/** `1 to destroy, 2 to create`; empty if nothing changes. */
export const actionsWords = (actions: GraphNode["actions"]): string =>
  signs
    .filter(([action]) => actions[action] !== undefined)
    .map(([action, , word]) => `${actions[action]} ${word}`)
    .join(", ");

export type NodeState = "failed" | "running" | "done";

/** The action by which a node is coloured. */
export const worstAction = (actions: GraphNode["actions"]): PlanAction | undefined =>
  signs.find(([action]) => actions[action] !== undefined)?.[0];

/** Leads to the entry of the list whose id is the address of the node. */
export const linkTo = (node: string): string => `#${encodeURIComponent(node)}`;
