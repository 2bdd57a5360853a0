/** What the configuration in a plan's JSON says of local modules and provisioners. */
import { posix } from "node:path";
import { moduleDepth, pathsIn, record } from "./dependencies.ts";

/** Calls of modules that are kept. */
const callLimit = 10_000;

export const sourcePaths = pathsIn(["module_calls.*.source"]);

export interface ConfigurationFacts {
  readonly hasProvisioners: boolean;
  /** Of all local modules, relative to the source; undefined if there are too many to tell. */
  readonly directories: readonly string[] | undefined;
}

/** Collects both piece by piece. */
export class ConfigurationReader {
  #hasProvisioners = false;
  #isWhole = true;
  /** By the names of the calls that lead to the module. */
  readonly #sources = new Map<string, string>();

  /** Adds a resource or the source of a module; `keys` lead to it. */
  add(keys: readonly unknown[], value: unknown): void {
    const names = keys.slice(2).map(String);
    const calls: string[] = [];
    while (names[0] === "module_calls" && names[2] === "module")
      calls.push(names.splice(0, 3)[1] ?? "");
    const [kind, name = "", part] = names;
    if (kind === "resources") {
      const { provisioners } = record(value);
      this.#hasProvisioners ||= Array.isArray(provisioners) && provisioners.length > 0;
    } else if (kind === "module_calls" && part === "source") {
      if (calls.length === moduleDepth || this.#sources.size === callLimit) this.#isWhole = false;
      else this.#sources.set([...calls, name].join("."), String(value));
    }
  }

  /** `folder`: the directory of the root module, relative to the source. */
  facts(folder: string): ConfigurationFacts {
    const found = new Map([["", folder]]);
    for (const [call, source] of [...this.#sources].toSorted(([a], [b]) => depth(a) - depth(b))) {
      // Modules of a module that was downloaded came with it.
      const outside = found.get(call.split(".").slice(0, -1).join("."));
      if (outside !== undefined && /^\.\.?(\/|$)/.test(source))
        found.set(call, posix.join(outside, source).replace(/(?<=.)\/$/, ""));
    }
    found.delete("");
    const directories = [...new Set(found.values())].toSorted();
    const isInside = directories.every((one) => one !== ".." && !one.startsWith("../"));
    return {
      hasProvisioners: this.#hasProvisioners || !this.#isWhole,
      directories: this.#isWhole && isInside ? directories : undefined,
    };
  }
}

const depth = (call: string): number => call.split(".").length;
