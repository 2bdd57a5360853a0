/** The page of a resource graph. Modules are opened and closed by links, without a script. */
import { nodesIn, type GraphChoice, type GraphNode } from "../../domain/graph-view.ts";
import type { StateGraph } from "../../services/graphs/graphs.ts";
import { html, type Html } from "../page/html.ts";
import { count } from "../page/words.ts";
import { graphSvg } from "./graph-svg.ts";
import { actionsWords } from "./graph-words.ts";

type Graph = Exclude<StateGraph["graph"], string>;

/** Modules that an address names; a longer one would not be accepted. */
const flipLimit = 50;

export function choiceOf(query: unknown): GraphChoice {
  const { modules, flip = [] } = query as { modules?: unknown; flip?: string | string[] };
  const flipped = [flip].flat().slice(-flipLimit);
  return { isOpen: modules !== "closed", flipped: new Set(flipped) };
}

/** The graph at the address `path`, or why there is none. */
export const graphView = (graph: StateGraph["graph"], title: string, path: string): Html =>
  typeof graph === "string"
    ? html`<p class="notice">${reasons[graph]}</p>`
    : drawn(graph, title, path);

const reasons: Readonly<Record<Exclude<StateGraph["graph"], object>, string>> = {
  "no state": "There is no state yet. The first deployment writes it.",
  "too large": "The state has more than 16 MiB, which is too large to draw.",
  "too complex": "Reading the state takes too long or too much memory.",
  encrypted: "OpenTofu has encrypted the state, so the server cannot read it.",
};

const drawn = ({ view, drawing }: Graph, title: string, path: string): Html => {
  const { choice, resources, dataSources, modules, isForced, nodesOmitted, edgesOmitted } = view;
  const isDrawn = drawing !== undefined;
  if (nodesIn(view.root).length + nodesOmitted === 0)
    return html`<p>The state records no resources.</p>`;
  const address = (isOpen: boolean, flipped: readonly string[] = []): string => {
    const query = new URLSearchParams(
      flipped.slice(-flipLimit).map((one): [string, string] => ["flip", one]),
    );
    if (!isOpen) query.set("modules", "closed");
    return query.size === 0 ? path : `${path}?${query.toString()}`;
  };
  const flip = (module: string): string => {
    const { isOpen, flipped } = choice;
    const others = [...flipped].filter((one) => one !== module);
    return address(isOpen, flipped.has(module) ? others : [...others, module]);
  };
  return html`<p>
      ${count(resources, "resource")}${dataSources === 0 ? "" : `, ${count(dataSources, "data source")}`}${modules === 0 ? "" : `, ${count(modules, "module")}`}.
      An arrow leads from a resource to those that need it; arrows that follow from others are left
      out.
    </p>
    ${
      modules === 0
        ? null
        : html`<p class="actions">
            ${isForced ? null : html`<a class="button quiet" href="${address(true)}">Open all modules</a>`}
            <a class="button quiet" href="${address(false)}">Close all modules</a>
          </p>`
    }
    ${isForced ? html`<p class="notice">The modules are closed, because there are more than 500 resources. Open those that you want to see.</p>` : null}
    ${left(nodesOmitted, "resource or module", "resources or modules")}
    ${left(edgesOmitted, "arrow", "arrows")}
    ${
      isDrawn
        ? graphSvg(drawing, title, flip)
        : html`<p class="notice flow">
            The graph is too complex to draw: close some modules, or read the list.
          </p>`
    }
    <details class="facts" ${isDrawn ? null : html`open`}>
      <summary>${isDrawn ? "The same as a list" : "The resources"}</summary>
      <ul class="graph-list">
        ${nodesIn(view.root).map((node) => item(node, flip))}
      </ul>
    </details>`;
};

const left = (number: number, one: string, many: string): Html | null =>
  number === 0
    ? null
    : html`<p class="warning flow">
        ${number.toLocaleString("en")} ${number === 1 ? `${one} is` : `${many} are`} left out of the
        graph.
      </p>`;

const item = (
  { id, kind, count: number, actions, needs }: GraphNode,
  flip: (id: string) => string,
): Html => {
  const what = actionsWords(actions);
  const facts = [
    ...(kind === "module"
      ? [count(number, "resource")]
      : number === 1
        ? []
        : [count(number, "instance")]),
    ...(what === "" ? [] : [what]),
  ].join(", ");
  return html`<li>
    ${kind === "module" ? html`<a href="${flip(id)}"><code>${id}</code></a>` : html`<code>${id}</code>`}
    ${facts === "" ? null : `(${facts})`}
    ${needs.length === 0 ? null : html`<span class="soft">needs ${needs.map((one) => html`<code>${one}</code> `)}</span>`}
  </li>`;
};
