/** Which key of the issuer signs, and which are published. Pure. */
import { day, hour } from "../../common/units.ts";

export interface KeyTimes {
  /** When this server has read the key at `jwks_uri`; null: not yet. */
  readonly read_at: number | null;
}

/** By then, everyone who caches the keys has the new one too. */
const publishedBefore = hour;
/** Tokens hold for ten minutes; what remains is for clocks and caches. */
const publishedAfter = day;

/** When a key begins to sign; the first one does so at once, as no one can know another key. */
const signsFrom = ({ read_at }: KeyTimes, isFirst: boolean): number =>
  isFirst ? -Infinity : (read_at ?? Infinity) + publishedBefore;

/** `keys`: the oldest first. */
export const signingKey = <K extends KeyTimes>(keys: readonly K[], now: number): K | undefined =>
  keys.findLast((key, index) => signsFrom(key, index === 0) <= now);

/** Without those that another one has replaced for long enough. */
export const publishedKeys = <K extends KeyTimes>(keys: readonly K[], now: number): K[] => {
  const first = keys.findLastIndex(
    (key, index) => signsFrom(key, index === 0) + publishedAfter <= now,
  );
  return keys.slice(Math.max(0, first));
};

/** The key that waits to be read at `jwks_uri`. A clock that was ahead may have noted a later time. */
export const unreadKey = <K extends KeyTimes>(keys: readonly K[], now: number): K | undefined => {
  const newest = keys.at(-1);
  return keys.length > 1 && newest && (newest.read_at ?? Infinity) > now ? newest : undefined;
};

/** The key that is published and does not sign yet, read or not. */
export const nextKey = <K extends KeyTimes>(keys: readonly K[], now: number): K | undefined => {
  const newest = keys.at(-1);
  return newest === signingKey(keys, now) ? undefined : newest;
};
