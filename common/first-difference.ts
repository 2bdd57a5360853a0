/** Returns the index at which two texts differ first; the length of the shorter if it begins the other. */
export function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}
