/**
 * Places the nodes of a graph. Each open module is laid out by itself and is one node of the module
 * around it: dagre's own nested layout fails on many graphs and takes several times as long.
 */
import { Graph, layout } from "@dagrejs/dagre";
import type { GraphBox, GraphNode, GraphView } from "./graph-view.ts";

interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
export interface PlacedNode extends GraphNode, Rectangle {}
export interface PlacedBox extends Rectangle {
  readonly module: string;
}
interface Point {
  readonly x: number;
  readonly y: number;
}

/** Leads from what is needed to what needs it: nodes, or open modules. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly points: readonly Point[];
}

/** Everything with its place, in pixels. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly boxes: readonly PlacedBox[];
  readonly arrows: readonly Arrow[];
}

const nodeHeight = 50;
const characterWidth = 8;
/** Longer names are cut where they are drawn. */
export const labelLength = 30;
/** The rest of a line: what is planned, or what is done of it. */
const labelSpace = 70;
const gap = 14;
const padding = 14;
const titleHeight = 28;
/** Up to so many nodes the best placement is searched for; it takes too long for more. */
const exactLimit = 60;
/** Nodes without arrows stand in rows about this wide. */
const rowWidth = 700;

export const drawingOf = ({ root }: GraphView): Drawing => place(root);

interface Item {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  readonly at: (x: number, y: number) => Pick<Drawing, "nodes" | "boxes" | "arrows">;
}

function place(box: GraphBox): Drawing {
  const items = [...box.boxes.map(boxItem), ...box.nodes.map(nodeItem)];
  const connected = new Set(box.edges.flat());
  const graph = placeConnected(
    items.filter(({ id }) => connected.has(id)),
    box.edges,
  );
  const rows = placeInRows(
    items.filter(({ id }) => !connected.has(id)),
    Math.max(graph.width, rowWidth),
    graph.height === 0 ? 0 : graph.height + gap,
  );
  const parts = [...graph.parts, ...rows.parts];
  return {
    width: Math.max(graph.width, rows.width),
    height: rows.height,
    nodes: parts.flatMap(({ nodes }) => nodes),
    boxes: parts.flatMap(({ boxes }) => boxes),
    arrows: [...graph.arrows, ...parts.flatMap(({ arrows }) => arrows)],
  };
}

const nodeItem = (node: GraphNode): Item => {
  const length = Math.max(node.name.length + 6, node.type.length);
  const width = Math.min(length, labelLength) * characterWidth + labelSpace;
  const at = (x: number, y: number) => {
    const nodes = [{ ...node, x, y, width, height: nodeHeight }];
    return { nodes, boxes: [], arrows: [] };
  };
  return { id: node.id, width, height: nodeHeight, at };
};

const boxItem = (box: GraphBox): Item => {
  const inner = place(box);
  const title = Math.min(box.module.length, labelLength) * characterWidth + labelSpace;
  const width = Math.max(inner.width, title) + 2 * padding;
  const height = inner.height + titleHeight + 2 * padding;
  const at = (x: number, y: number) => {
    const move = <T extends Point>(one: T): T => ({
      ...one,
      x: one.x + x + padding,
      y: one.y + y + padding + titleHeight,
    });
    return {
      nodes: inner.nodes.map(move),
      boxes: [{ module: box.module, x, y, width, height }, ...inner.boxes.map(move)],
      arrows: inner.arrows.map((arrow) => ({ ...arrow, points: arrow.points.map(move) })),
    };
  };
  return { id: box.module, width, height, at };
};

function placeConnected(items: readonly Item[], edges: GraphBox["edges"]) {
  if (items.length === 0) return { width: 0, height: 0, parts: [], arrows: [] };
  const graph = new Graph();
  graph.setGraph({
    rankdir: "LR",
    nodesep: gap,
    edgesep: 8,
    ranksep: 56,
    ranker: items.length <= exactLimit ? "network-simplex" : "longest-path",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of items) graph.setNode(id, { width, height });
  for (const [from, to] of edges) graph.setEdge(to, from);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    parts: items.map((item) => {
      const { x, y } = graph.node(item.id) as Point;
      return item.at(x - item.width / 2, y - item.height / 2);
    }),
    arrows: edges.map(([to, from]) => {
      const { points } = graph.edge(from, to) as { points: Point[] };
      return { from, to, points };
    }),
  };
}

function placeInRows(items: readonly Item[], widest: number, top: number) {
  let [x, y, width, bottom] = [0, top, 0, top];
  const parts = items.map((item) => {
    if (x > 0 && x + item.width > widest) [x, y] = [0, bottom + gap];
    const part = item.at(x, y);
    x += item.width + gap;
    width = Math.max(width, x - gap);
    bottom = Math.max(bottom, y + item.height);
    return part;
  });
  return { width, height: items.length === 0 ? Math.max(0, top - gap) : bottom, parts };
}
