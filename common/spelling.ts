/** Finds what a misspelt word was meant to be. */

/** Reports whether two words are one or two typing errors apart, or one begins with the other. */
export function isClose(a: string, b: string): boolean {
  const [x, y] = [a.toLowerCase(), b.toLowerCase()];
  return x.startsWith(y) || y.startsWith(x) || distance(x, y) <= Math.min(2, x.length / 3);
}

/** Returns the word that is nearest to a misspelt one; undefined if none is close. */
export function closest(misspelt: string, words: readonly string[]): string | undefined {
  if (misspelt === "") return undefined;
  const close = words.filter((one) => isClose(one, misspelt));
  return close.toSorted((a, b) => distance(a, misspelt) - distance(b, misspelt))[0];
}

/** Returns the Levenshtein distance. */
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
