/** Which targets of a plan match a resource that the plan changes. */
import { actionOf, type ResourceChange } from "./summary.ts";

/** Collects, piece by piece, which targets match nothing. */
export class TargetMatches {
  /** The targets without a match so far, by how their addresses are compared. */
  readonly #unmatched: Map<string, string>;

  constructor(targets: readonly string[]) {
    this.#unmatched = new Map(targets.map((target) => [comparable(target), target]));
  }

  /** One entry of `resource_changes`. */
  resource({ address, previous_address, change }: ResourceChange): void {
    if (this.#unmatched.size === 0 || ["none", "read"].includes(actionOf(change.actions))) return;
    for (const place of [address, previous_address ?? address].map(comparable))
      for (const target of this.#unmatched.keys())
        if (isWithin(place, target)) this.#unmatched.delete(target);
  }

  get unmatched(): readonly string[] {
    return [...this.#unmatched.values()];
  }
}

/** A resource is within its own address, those of its instances' resource, and those of its modules. */
const isWithin = (address: string, target: string): boolean =>
  address.startsWith(target) && ["", ".", "["].includes(address.charAt(target.length));

/** The keys of instances can be escaped in several ways. */
const comparable = (address: string): string =>
  address.replaceAll(/"(?:[^"\\]|\\.)*"/g, (key) => {
    try {
      return JSON.stringify(JSON.parse(key));
    } catch {
      return key;
    }
  });
