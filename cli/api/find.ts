/** Things by the name that people use for them. */
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

/** Whether two words are one or two typing errors apart, or one begins the other. */
function isClose(a: string, b: string): boolean {
  const [x, y] = [a.toLowerCase(), b.toLowerCase()];
  return x.startsWith(y) || y.startsWith(x) || distance(x, y) <= Math.min(2, x.length / 3);
}

/** Levenshtein's. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const changed = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
