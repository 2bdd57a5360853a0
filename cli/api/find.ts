/** Things by the name that people use for them. */
import { isClose } from "../../common/spelling.ts";
import { Failure } from "../terminal/output.ts";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The one of this name or id. Throws `Failure` with the names that come close. */
export function find<T extends Named>(
  what: string,
  noun: string,
  all: readonly T[],
  wanted: string,
): T {
  // The id goes first: no name hides another thing.
  const id = wanted.toLowerCase();
  const found = all.find((one) => one.id === id) ?? all.find(({ name }) => name === wanted);
  if (found) return found;
  const close = all.map(({ name }) => name).filter((name) => isClose(name, wanted));
  const hint = close.length > 0 ? `did you mean ${close.slice(0, 3).join(" or ")}?` : "";
  throw new Failure(
    `there is no ${what} "${wanted}"${hint ? `: ${hint}` : `. windlass ${noun} list shows those there are`}`,
  );
}
