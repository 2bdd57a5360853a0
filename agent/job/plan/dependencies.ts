/**
 * What the resources of a plan need, also those that do not exist yet, from the configuration in
 * `show -json`, which lacks what comes through local values and dynamic blocks.
 */
import { planGraphCount, planGraphLimit, planTextLimit } from "../../../protocol/limits.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";

type Needs = PlanSummary["graph"] & object;

/** References, and things that have some, that are kept of a configuration. */
const keptLimit = 100_000;
/** References that are followed for all resources together. */
const followedLimit = 200_000;
/** Blocks in an expression are not nested more deeply. */
const depthLimit = 20;
/** Modules in modules whose resources are read. */
export const moduleDepth = 8;

interface ModuleConfig {
  /** References by `type.name`. */
  readonly resources: Map<string, readonly string[]>;
  readonly outputs: Map<string, readonly string[]>;
  /** By the name of the call: its arguments by name, and what the whole module needs. */
  readonly inputs: Map<string, ReadonlyMap<string, readonly string[]>>;
  readonly calls: Map<string, readonly string[]>;
}

const root = ["configuration", "root_module"];
const parts = [
  "resources.*",
  "outputs.*",
  "module_calls.*.expressions",
  "module_calls.*.count_expression",
  "module_calls.*.for_each_expression",
  "module_calls.*.depends_on",
];

/** Where a plan's JSON has these parts of all modules. */
export const pathsIn = (wanted: readonly string[]): string[] =>
  Array.from({ length: moduleDepth + 1 }, (_, depth) => {
    const module = [...root, ...Array<string>(depth).fill("module_calls.*.module")];
    return wanted.map((part) => ["$", ...module, part].join("."));
  }).flat();

/** Where it has what `add` takes. */
export const dependencyPaths = pathsIn(parts);

/** Collects the references of a configuration piece by piece, within bounds. */
export class Dependencies {
  readonly #modules = new Map<string, ModuleConfig>();
  #room = keptLimit;
  #steps = followedLimit;

  /** Adds a value of one of the paths; `keys` lead to it. */
  add(keys: readonly unknown[], value: unknown): void {
    if (this.#room <= 0) return;
    const names = keys.slice(root.length).map(String);
    let module = "";
    while (names[0] === "module_calls" && names[2] === "module")
      module = inside(module, names.splice(0, 3)[1]!);
    const of = this.#moduleAt(module);
    const [kind, name = "", part] = names;
    if (kind === "outputs") {
      const { depends_on, expression } = record(value);
      of.outputs.set(name, this.#keep([...referencesIn(expression), ...plain(depends_on)]));
    } else if (kind === "module_calls" && part === "expressions")
      of.inputs.set(
        name,
        new Map(
          Object.entries(record(value)).map(([argument, one]) => [
            argument,
            this.#keep(referencesIn(one)),
          ]),
        ),
      );
    else if (kind === "module_calls") {
      const more = this.#keep(part === "depends_on" ? plain(value) : referencesIn(value));
      of.calls.set(name, [...(of.calls.get(name) ?? []), ...more]);
    } else {
      const { mode, type, name: own, depends_on, ...rest } = record(value);
      const address = `${mode === "data" ? "data." : ""}${String(type)}.${String(own)}`;
      of.resources.set(address, this.#keep([...referencesIn(rest), ...plain(depends_on)]));
    }
  }

  /** What each of these resources needs, directly or through modules; the others are left out. */
  needsOf(addresses: Iterable<string>): Needs {
    const graph: Needs = [];
    let [edges, bytes] = [0, 2];
    for (const address of addresses) {
      const needs = this.#follow(address).slice(0, planGraphCount - edges);
      if (needs.length === 0) continue;
      const one = { address, needs };
      bytes += Buffer.byteLength(JSON.stringify(one)) + 1;
      if (bytes > planGraphLimit) break;
      edges += needs.length;
      graph.push(one);
    }
    return graph;
  }

  #follow(address: string): string[] {
    const [module, local] = split(address);
    const found = new Set<string>();
    const seen = new Set<string>();
    const open = [...(this.#modules.get(module)?.resources.get(local) ?? [])].map(
      (reference) => [module, reference] as const,
    );
    for (let at = module; at !== "";) {
      const [outside, call] = above(at);
      for (const reference of this.#modules.get(outside)?.calls.get(call) ?? [])
        open.push([outside, reference]);
      at = outside;
    }
    for (let next = open.pop(); next !== undefined && this.#steps > 0; next = open.pop()) {
      this.#steps--;
      const key = next.join(" ");
      if (seen.has(key)) continue;
      seen.add(key);
      for (const one of this.#targetsOf(...next)) {
        if (this.#steps-- <= 0) break;
        if (typeof one === "string") found.add(one);
        else open.push(one);
      }
    }
    found.delete(address);
    return [...found].filter((one) => one.length <= planTextLimit).toSorted();
  }

  /** The resources that a reference names, and the references in place of which it stands. */
  *#targetsOf(module: string, reference: string): Iterable<string | readonly [string, string]> {
    const of = this.#modules.get(module);
    const [kind = "", name = "", output] = reference.split(".");
    if (kind === "var" && module !== "") {
      const [outside, call] = above(module);
      for (const one of this.#modules.get(outside)?.inputs.get(call)?.get(name) ?? [])
        yield [outside, one];
    } else if (kind === "module") {
      const inner = inside(module, name);
      if (output !== undefined)
        for (const one of this.#modules.get(inner)?.outputs.get(output) ?? []) yield [inner, one];
      else {
        this.#steps -= this.#modules.size;
        for (const [path, { resources }] of this.#modules)
          if (path === inner || path.startsWith(`${inner}.`))
            for (const one of resources.keys()) yield `${path}.${one}`;
      }
    } else if (of?.resources.has(reference)) {
      yield module === "" ? reference : `${module}.${reference}`;
      // A data source that is read for the first time is no node of the graph.
      if (kind === "data") for (const one of of.resources.get(reference) ?? []) yield [module, one];
    }
  }

  #moduleAt(module: string): ModuleConfig {
    const known = this.#modules.get(module);
    if (known) return known;
    const added = {
      resources: new Map<string, readonly string[]>(),
      outputs: new Map<string, readonly string[]>(),
      inputs: new Map<string, ReadonlyMap<string, readonly string[]>>(),
      calls: new Map<string, readonly string[]>(),
    };
    this.#modules.set(module, added);
    return added;
  }

  #keep(references: Iterable<string>): string[] {
    const kept = [...new Set(references)].slice(0, Math.max(0, this.#room - 1));
    this.#room -= kept.length + 1;
    return kept;
  }
}

/** `module.a["x"].aws_instance.web[0]` without `["x"]` and `[0]`. */
export const withoutKeys = (address: string): string =>
  address.replaceAll(/\[(?:"(?:[^"\\]|\\.)*"|[^\]"]*)\]/g, "");

const inside = (module: string, call: string): string =>
  `${module === "" ? "" : `${module}.`}module.${call}`;

/** The module around a module, and the name of its call there. */
function above(module: string): [outside: string, call: string] {
  const names = module.split(".");
  return [names.slice(0, -2).join("."), names.at(-1) ?? ""];
}

/** The module of a resource, and its address there. */
function split(address: string): [module: string, local: string] {
  const names = address.split(".");
  let at = 0;
  while (names[at] === "module") at += 2;
  return [names.slice(0, at).join("."), names.slice(at).join(".")];
}

/** The references in an expression, or in blocks of them, without those to values of no resource. */
function* referencesIn(value: unknown, depth = 0): Iterable<string> {
  if (typeof value !== "object" || value === null || depth > depthLimit) return;
  if (Array.isArray(value)) {
    for (const one of value) yield* referencesIn(one, depth + 1);
    return;
  }
  for (const [name, one] of Object.entries(value)) {
    if (name === "constant_value") continue;
    if (name === "references" && isTexts(one)) yield* plain(one);
    else yield* referencesIn(one, depth + 1);
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** `aws_vpc.main.id` as `aws_vpc.main`; what has an attribute too is named once. */
function plain(references: unknown): string[] {
  if (!isTexts(references)) return [];
  const short = references
    .filter((one) => one.length <= planTextLimit)
    .map((one) => withoutKeys(one).split("."))
    .filter(([kind = ""]) => !ignored.has(kind))
    .map((names) => names.slice(0, names[0] === "data" || names[0] === "module" ? 3 : 2).join("."));
  // Terraform lists `module.a.id` and `module.a`, of which the latter alone means all of it.
  const longer = new Set(short.map((one) => one.slice(0, one.lastIndexOf("."))));
  return short.filter((one) => !longer.has(one));
}

const ignored = new Set(["local", "each", "count", "path", "self", "terraform", "ephemeral"]);

export const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
