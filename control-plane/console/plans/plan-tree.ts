/** The changes of a plan as a tree of their modules. */
import type { PlannedChange } from "../../../protocol/plan-summary.ts";

/** A change and its address within its module, or a module. */
export type TreeEntry =
  | { readonly change: PlannedChange; readonly name: string }
  | { readonly module: string; readonly entries: readonly TreeEntry[] };

/** `module.network["eu"].`, at the start of an address. */
const step = /^module\.[^.[]+(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?\./;

/** Deeper modules are part of the address. */
const deepest = 10;

/** Returns the entries in the order of the plan: what is destroyed comes first, and its modules. */
export function treeOf(changes: readonly PlannedChange[]): readonly TreeEntry[] {
  return entriesOf(
    changes.map((change) => ({ change, name: change.address })),
    0,
  );
}

type Leaf = Extract<TreeEntry, { name: string }>;

function entriesOf(leaves: readonly Leaf[], depth: number): readonly TreeEntry[] {
  const groups = Map.groupBy(leaves, (leaf) =>
    depth === deepest ? leaf : (step.exec(leaf.name)?.[0] ?? leaf),
  );
  return Array.from(groups, ([key, members]) => {
    if (typeof key !== "string") return key;
    const inside = members.map(({ change, name }) => ({ change, name: name.slice(key.length) }));
    const entries = entriesOf(inside, depth + 1);
    const [only] = entries;
    // A module that has nothing but another one is shown with it.
    return entries.length === 1 && only && "module" in only
      ? { ...only, module: `${key}${only.module}` }
      : { module: key.slice(0, -1), entries };
  });
}

export const changesIn = (entry: TreeEntry): readonly PlannedChange[] =>
  "change" in entry ? [entry.change] : entry.entries.flatMap(changesIn);
