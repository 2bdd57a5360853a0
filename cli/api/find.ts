/** Finds a resource by name or id. */
import { isClose } from "../../common/spelling.ts";
import { CliError } from "../terminal/output.ts";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Returns the item with this name or id. Throws `CliError` with similar names. */
export function find<T extends Named>(
  what: string,
  noun: string,
  all: readonly T[],
  wanted: string,
): T {
  // An id takes precedence, so that no name can hide another item.
  const id = wanted.toLowerCase();
  const found = all.find((one) => one.id === id) ?? all.find(({ name }) => name === wanted);
  if (found) return found;
  const close = all.map(({ name }) => name).filter((name) => isClose(name, wanted));
  const hint =
    close.length > 0
      ? `Did you mean ${close.slice(0, 3).join(" or ")}?`
      : `To see what exists: windlass ${noun} list`;
  throw new CliError(`There is no ${what} "${wanted}". ${hint}`);
}
