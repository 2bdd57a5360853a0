/** Links open and close modules. A script shows a node's list entry beside the drawing. */
import { script } from "../assets.ts";
import type { PlannedChange } from "../../../protocol/plan-summary.ts";
import { nodesIn, type GraphChoice, type GraphNode } from "../../domain/graph-view.ts";
import { withoutKeys } from "../../domain/resource-graph.ts";
import type { StateGraph } from "../../services/graphs/graphs.ts";
import { html, type Html } from "../page/html.ts";
import { count } from "../page/words.ts";
import { attributesView } from "../plans/attributes-view.ts";
import { graphSvg } from "./graph-svg.ts";
import { actionsWords, linkTo, type NodeState } from "./graph-words.ts";

type Graph = Exclude<StateGraph["graph"], string>;

/** Modules that an address names; a longer one would not be accepted. */
const flipLimit = 50;

export function choiceOf(query: unknown): GraphChoice {
  const { modules, flip = [] } = query as { modules?: unknown; flip?: string | string[] };
  const flipped = [flip].flat().slice(-flipLimit);
  return { isOpen: modules !== "closed", flipped: new Set(flipped) };
}

/** What is known besides the resources and their dependencies. */
interface More {
  /** Where it comes from, in a sentence. */
  readonly note?: string;
  readonly progress?: Html | null;
  readonly changes?: readonly PlannedChange[];
  readonly states?: ReadonlyMap<string, NodeState>;
  /** The apply has ended. */
  readonly isOver?: boolean;
}

/** The graph at the address `path`, or why there is none. */
export const graphView = (
  graph: StateGraph["graph"],
  title: string,
  path: string,
  more: More = {},
): Html =>
  typeof graph === "string"
    ? html`<p class="notice">${reasons[graph]}</p>`
    : drawn(graph, title, path, more);

const reasons: Readonly<Record<Exclude<StateGraph["graph"], object>, string>> = {
  "no state": "There is no state yet. The first deployment writes it.",
  "too large": "The state has more than 16 MiB, which is too large to draw.",
  "too complex": "Reading the state takes too long or too much memory.",
  encrypted: "OpenTofu has encrypted the state, so the server cannot read it.",
};

const drawn = (
  { view, drawing }: Graph,
  title: string,
  path: string,
  { note = "", progress = null, changes = [], states = new Map(), isOver = false }: More,
): Html => {
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
  const nodes = nodesIn(view.root);
  const neededBy = Map.groupBy(
    nodes.flatMap(({ id, needs }) => needs.map((need) => [need, id] as const)),
    ([need]) => need,
  );
  const changesOf = Map.groupBy(changes, ({ address }) => withoutKeys(address));
  const entry = (node: GraphNode): Html =>
    item(node, {
      neededBy: (neededBy.get(node.id) ?? []).map(([, id]) => id),
      changes: changesOf.get(node.id) ?? [],
      flip,
      isOver,
    });
  return html`<windlass-graph class="canvas">
      <div class="graph-bar">
        <p>
          ${count(resources, "resource")}${dataSources === 0 ? "" : `, ${count(dataSources, "data source")}`}${modules === 0 ? "" : `, ${count(modules, "module")}`}.
        </p>
        ${progress} ${isDrawn ? tools : null}
        ${
          modules === 0
            ? null
            : html`<p class="actions">
                ${isForced ? null : html`<a class="button quiet fold" href="${address(true)}">Open all modules</a>`}
                <a class="button quiet fold" href="${address(false)}">Close all modules</a>
              </p>`
        }
      </div>
      ${isForced ? html`<p class="notice">The modules are closed, because there are more than 500 resources. Open those that you want to see.</p>` : null}
      ${left(nodesOmitted, "resource or module", "resources or modules")}
      ${left(edgesOmitted, "arrow", "arrows")}
      ${
        isDrawn
          ? html`<div class="graph-stage">
              ${graphSvg(drawing, title, flip, states)}
              <aside class="graph-panel" aria-label="Chosen resource" tabindex="-1" hidden></aside>
            </div>`
          : html`<p class="notice flow">
              The graph is too complex to draw: close some modules, or read the list.
            </p>`
      }
      <details class="facts" ${isDrawn ? null : html`open`}>
        <summary>${isDrawn ? "The same as a list" : "The resources"}</summary>
        <ul class="graph-list">
          ${nodes.map(entry)}
        </ul>
      </details>
    </windlass-graph>
    <p class="soft">
      An arrow leads from a resource to those that need it; arrows that follow from others are left
      out. ${note}
    </p>
    ${script("graph.js")}`;
};

/** What a script does. */
const tools = html`<div class="graph-tools" hidden>
  <input type="search" name="find" aria-label="Search the graph" placeholder="Search" />
  <output></output>
  <button type="button" class="quiet" name="out" aria-label="Zoom out" title="Zoom out (−)">
    −
  </button>
  <button type="button" class="quiet" name="in" aria-label="Zoom in" title="Zoom in (+)">+</button>
  <button type="button" class="quiet" name="fit" title="Show all of it (0)">Fit</button>
</div>`;

const left = (number: number, one: string, many: string): Html | null =>
  number === 0
    ? null
    : html`<p class="warning flow">
        ${number.toLocaleString("en")} ${number === 1 ? `${one} is` : `${many} are`} left out of the
        graph.
      </p>`;

interface About {
  readonly neededBy: readonly string[];
  readonly changes: readonly PlannedChange[];
  readonly flip: (id: string) => string;
  readonly isOver: boolean;
}

const item = (
  { id, kind, count: number, actions, needs }: GraphNode,
  { neededBy, changes, flip, isOver }: About,
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
  return html`<li id="${id}">
    ${kind === "module" ? html`<a class="fold" href="${flip(id)}"><code>${id}</code></a>` : html`<code>${id}</code>`}
    ${facts === "" ? null : `(${facts})`} ${links("needs", needs)}
    ${links("is needed by", neededBy)}
    ${changes.length === 0 ? null : html`<div class="plan">${changes.map((change) => changeView(change, number > 1, isOver))}</div>`}
  </li>`;
};

const links = (words: string, nodes: readonly string[]): Html | null =>
  nodes.length === 0
    ? null
    : html`<span class="soft"
        >${words}
        ${nodes.map((node) => html`<a href="${linkTo(node)}"><code>${node}</code></a> `)}</span
      >`;

/** What changes in an instance, with its address if there are several. */
const changeView = (change: PlannedChange, isNamed: boolean, isOver: boolean): Html | null => {
  const values = attributesView(change, isOver);
  if (values === null || !isNamed) return values;
  return html`<details class="resource" open>
    <summary><code>${change.address}</code></summary>
    ${values}
  </details>`;
};
