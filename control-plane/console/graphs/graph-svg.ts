/** A resource graph as SVG, without scripts and styles of its own. */
import { labelLength, type Drawing, type PlacedNode } from "../../domain/graph-layout.ts";
import { html, type Html } from "../page/html.ts";
import { actionsText, worstAction } from "./graph-words.ts";

/** Returns the address that opens or closes a module. */
export type Flip = (module: string) => string;

/** The drawing; `title` names it for those who do not see it. */
export const graphSvg = ({ width, height, ...parts }: Drawing, title: string, flip: Flip): Html =>
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
              rx="8"
            />
            <a href="${flip(module)}" aria-label="Close ${module}">
              <title>${module}</title>
              <text class="toggle" x="${round(x + 12)}" y="${round(y + 21)}">− ${cut(module)}</text>
            </a>`,
      )}
      ${parts.arrows.map((points) => html`<path class="arrow" d="${curve(points)}" marker-end="url(#arrow)" />`)}
      ${parts.nodes.map((node) => nodeOf(node, flip))}
    </svg>
  </div>`;

const margin = 12;

const nodeOf = (node: PlacedNode, flip: Flip): Html => {
  const { id, kind, type, name, count, actions, x, y, width, height } = node;
  const what = actionsText(actions);
  const isModule = kind === "module";
  const many = isModule ? ` (${count})` : count === 1 ? "" : ` ×${count}`;
  const label = `${isModule ? "+ " : ""}${cut(name)}${many}`;
  const body = html`<title>${id}${what === "" ? "" : `: ${what}`}</title>
    <rect x="0" y="0" width="${round(width)}" height="${round(height)}" rx="6" />
    <text class="type" x="12" y="18">${cut(kind === "data" ? `data ${type}` : type)}</text>
    <text x="12" y="36">${label}</text>
    ${what === "" ? null : html`<text class="what" x="${round(width - 10)}" y="18">${what}</text>`}`;
  return html`<g
    class="node ${kind} ${worstAction(actions) ?? ""}"
    transform="translate(${round(x)} ${round(y)})"
  >
    ${isModule ? html`<a href="${flip(id)}" aria-label="Open ${id}">${body}</a>` : body}
  </g>`;
};

const cut = (text: string): string =>
  text.length > labelLength ? `${text.slice(0, labelLength - 1)}…` : text;

const round = (number: number): number => Math.round(number * 10) / 10;

const at = ({ x, y }: { x: number; y: number }): string => `${round(x)} ${round(y)}`;

/** A line through the points that is rounded at each. */
function curve(points: Drawing["arrows"][number]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (first === undefined || last === undefined) return "";
  const bends = rest.map((point, index) => {
    const next = rest[index + 1] ?? last;
    return `Q${at(point)} ${at({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`;
  });
  return `M${at(first)}${bends.join("")}L${at(last)}`;
}
