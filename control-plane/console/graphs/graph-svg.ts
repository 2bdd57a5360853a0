/** A resource graph as SVG, without scripts and styles of its own. */
import {
  labelLength,
  type Arrow,
  type Drawing,
  type PlacedNode,
} from "../../domain/graph-layout.ts";
import { html, type Html } from "../page/html.ts";
import { actionsText, linkTo, worstAction, type NodeState } from "./graph-words.ts";

/** Returns the address that opens or closes a module. */
export type Flip = (module: string) => string;

/** The drawing; `title` names it for those who do not see it. A node leads to its place in the list. */
export const graphSvg = (
  { width, height, ...parts }: Drawing,
  title: string,
  flip: Flip,
  states: ReadonlyMap<string, NodeState>,
): Html =>
  html`<div class="graph" tabindex="0" role="region" aria-label="${title}">
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width="${Math.ceil(width + 2 * margin)}"
      height="${Math.ceil(height + 2 * margin)}"
      viewBox="${-margin} ${-margin} ${Math.ceil(width + 2 * margin)} ${Math.ceil(height + 2 * margin)}"
      role="group"
      aria-label="${title}"
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="8"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          orient="auto"
        >
          <path class="head" d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      ${parts.boxes.map(
        ({ module, x, y, width: w, height: h }) =>
          html`<rect
              class="box"
              x="${round(x)}"
              y="${round(y)}"
              width="${round(w)}"
              height="${round(h)}"
              rx="10"
            />
            <a
              class="fold"
              data-node="${module}"
              href="${flip(module)}"
              aria-label="Close ${module}"
            >
              <title>Close ${module}</title>
              <text class="toggle" x="${round(x + 14)}" y="${round(y + 22)}">− ${cut(module)}</text>
            </a>`,
      )}
      ${parts.arrows.map(
        ({ from, to, points }) =>
          html`<path
            class="arrow"
            d="${curve(points)}"
            data-from="${from}"
            data-to="${to}"
            marker-end="url(#arrow)"
          />`,
      )}
      ${parts.nodes.map((node) => nodeOf(node, flip, states.get(node.id)))}
    </svg>
  </div>`;

const margin = 16;

const nodeOf = (node: PlacedNode, flip: Flip, state: NodeState | undefined): Html => {
  const { id, kind, type, name, count, actions, x, y, width, height } = node;
  const what = actionsText(actions);
  const isModule = kind === "module";
  const many = isModule ? ` (${count})` : count === 1 ? "" : ` ×${count}`;
  const label = `${isModule ? "+ " : ""}${cut(name)}${many}`;
  return html`<g
    class="node ${kind} ${worstAction(actions) ?? ""} ${state ?? ""}"
    data-node="${id}"
    transform="translate(${round(x)} ${round(y)})"
  >
    <a
      class="${isModule ? "fold" : "pick"}"
      href="${isModule ? flip(id) : linkTo(id)}"
      aria-label="${[isModule ? `Open ${id}` : id, what, state].filter(Boolean).join(", ")}"
    >
      <title>${id}${what === "" ? "" : `: ${what}`}</title>
      <rect x="0" y="0" width="${round(width)}" height="${round(height)}" rx="8" />
      <rect class="stripe" x="0" y="10" width="3" height="${round(height - 20)}" />
      <text class="type" x="14" y="20">${cut(kind === "data" ? `data ${type}` : type)}</text>
      <text class="name" x="14" y="39">${label}</text>
      <text class="what" x="${round(width - 12)}" y="20">${what}</text>
      <text class="state" x="${round(width - 12)}" y="39">${state ?? ""}</text>
    </a>
  </g>`;
};

const cut = (text: string): string =>
  text.length > labelLength ? `${text.slice(0, labelLength - 1)}…` : text;

const round = (number: number): number => Math.round(number * 10) / 10;

const at = ({ x, y }: { x: number; y: number }): string => `${round(x)} ${round(y)}`;

/** A line through the points that is rounded at each. */
function curve(points: Arrow["points"]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (first === undefined || last === undefined) return "";
  const bends = rest.map((point, index) => {
    const next = rest[index + 1] ?? last;
    return `Q${at(point)} ${at({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`;
  });
  return `M${at(first)}${bends.join("")}L${at(last)}`;
}
