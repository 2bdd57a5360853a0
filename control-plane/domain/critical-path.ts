/** The chain of changes that made an apply as long as it was. */

/** One change of a resource, by any clock in ms. */
export interface Span {
  readonly address: string;
  readonly isDelete: boolean;
  readonly from: number;
  readonly to: number;
}

export interface CriticalPath<T> {
  /** In the order of time; empty if no change waited for another one. */
  readonly spans: readonly T[];
  /** What says that one waited for another: what resources need, or only that it began then. */
  readonly isByNeeds: boolean;
}

/** A change that begins within so many ms after the end of another one may have waited for it. */
const pause = 500;
/** A runner reads an end and what it lets begin at about the same time, in either order. */
const inexact = 50;

/** Goes back from the last change that ended. `needs`: undefined if dependencies are unknown. */
export function criticalPath<T extends Span>(
  spans: readonly T[],
  needs?: (address: string, other: string) => boolean,
): CriticalPath<T> {
  const latestFirst = spans.toSorted((a, b) => b.to - a.to || a.from - b.from);
  const byNeeds = needs
    ? chain(latestFirst, (one, next) => {
        // The two halves of a replacement.
        if (one.address === next.address) return true;
        // What needs a resource is destroyed before it.
        return next.isDelete
          ? one.isDelete && needs(one.address, next.address)
          : needs(next.address, one.address);
      })
    : [];
  if (byNeeds.length > 0) return { spans: byNeeds, isByNeeds: true };
  const byTimes = chain(latestFirst, (one, next) => next.from - one.to <= pause);
  return { spans: byTimes, isByNeeds: false };
}

/** The first that can precede another one is the one that ended last. */
function chain<T extends Span>(
  latestFirst: readonly T[],
  precedes: (one: T, next: T) => boolean,
): T[] {
  const found: T[] = [];
  for (const one of latestFirst) {
    const [next] = found;
    const isBefore =
      next === undefined ||
      (one.from < next.from && one.to <= next.from + inexact && precedes(one, next));
    if (isBefore) found.unshift(one);
  }
  return found.length > 1 ? found : [];
}
