/** CPU profiles of a server, and where in the code their time was spent. */
import { setTimeout as pause } from "node:timers/promises";

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

interface Node {
  readonly id: number;
  readonly callFrame: Frame;
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Microseconds by name, the largest first. */
export type Times = ReadonlyMap<string, number>;

export interface Spent {
  readonly parts: Times;
  readonly functions: Times;
}

/**
 * What the parts are called, and how they are recognised. A frame reads the name of a function, a space and the path of its file.
 * A sample belongs to the first part of `whole` that one of its frames belongs to, with everything
 * that is called there.
 */
const whole: readonly (readonly [part: string, frame: RegExp])[] = [
  ["commit", /^#(commit|begin) \S*engines\/sqlite\.ts/],
  ["credential check", /services\/workers\/credentials|domain\/tokens|http\/guards/],
  ["parsing the body", /^(parse|parseJson|findExcess|isWellFormed) \S*http\/json-/],
  ["schema check", /domain\/validation\.ts|report-repair\.ts|^validate\d* $/],
];
/** Otherwise it belongs to the part of its innermost frame that belongs to one. */
const innermost: readonly (readonly [part: string, frame: RegExp])[] = [
  ["statements, group commit", /control-plane\/store\//],
  ["services", /control-plane\/(services|domain|wakeups)\//],
  ["metrics", /prometheus|bintrees|tdigest/],
  ["our hooks and routes", /control-plane\//],
  ["Fastify", /node_modules\/(fastify|find-my-way|avvio|fast-|@fastify|secure-json)/],
  ["Node: HTTP and sockets", /node:/],
];
const outside: ReadonlyMap<string, string> = new Map([
  ["(garbage collector)", "garbage collector"],
  ["(program)", "native code outside functions"],
  ["(idle)", "(idle)"],
]);

/** Profiles a process that was started with `--inspect=127.0.0.1:0`, while `work` runs. */
export async function profile(debuggerUrl: string, work: () => Promise<unknown>): Promise<Spent> {
  const socket = new WebSocket(debuggerUrl);
  const answers = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id: number; result: unknown };
    answers.get(id)?.(result);
  });
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  const call = (method: string, params: object = {}) =>
    new Promise<unknown>((resolve) => {
      const id = answers.size + 1;
      answers.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params }));
    });
  await call("Profiler.enable");
  await call("Profiler.setSamplingInterval", { interval: 200 });
  await call("Profiler.start");
  await work();
  const { profile: taken } = (await call("Profiler.stop")) as { profile: Profile };
  socket.close();
  await pause(50);
  return spentIn(taken);
}

function spentIn({ nodes, samples, timeDeltas }: Profile): Spent {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map<number, Node>();
  for (const node of nodes) for (const child of node.children ?? []) parents.set(child, node);
  const byPart = new Map<string, number>();
  const byFunction = new Map<string, number>();
  for (const [index, sample] of samples.entries()) {
    const time = timeDeltas[index] ?? 0;
    const stack: string[] = [];
    for (let node = byId.get(sample); node; node = parents.get(node.id)) stack.push(nameOf(node));
    add(byPart, partOf(stack), time);
    add(byFunction, functionOf(stack), time);
  }
  return { parts: sorted(byPart), functions: sorted(byFunction) };
}

const add = (times: Map<string, number>, name: string, time: number) =>
  times.set(name, (times.get(name) ?? 0) + time);

const nameOf = ({ callFrame: { functionName, url } }: Node): string =>
  `${functionName || "(anonymous)"} ${url.replace(/^.*\/(?=(control-plane|node_modules|protocol|common)\/)/, "")}`;

function partOf(stack: readonly string[]): string {
  const self = outside.get(stack[0]?.trim() ?? "");
  if (self !== undefined) return self;
  for (const [part, pattern] of whole) if (stack.some((frame) => pattern.test(frame))) return part;
  for (const frame of stack)
    for (const [part, pattern] of innermost) if (pattern.test(frame)) return part;
  return "other";
}

/** Native functions have no address: the nearest function that has one called them. */
function functionOf(stack: readonly string[]): string {
  const caller = stack.find((frame) => !frame.endsWith(" ")) ?? "";
  const self = stack[0] ?? "";
  return self === caller ? self : `${self.trim()} ${caller === "" ? "" : `< ${caller}`}`.trim();
}

const sorted = (times: Map<string, number>): Times =>
  new Map([...times].toSorted(([, a], [, b]) => b - a));
