/** Counts the memory of bodies that have not arrived whole, by the user or owner who sends them. */
import { kibibyte, mebibyte } from "../../common/units.ts";

/** Limit for all callers together. */
export const arrivingLimit = 256 * mebibyte;
/** Limit for one user, or the workers of one space. */
export const arrivingLimitOfOne = 64 * mebibyte;

/** What may have come with the head, before anything was counted. */
const firstPart = 64 * kibibyte;

export interface Arriving {
  /** Counts received bytes; false if there is no room for them. */
  receive(bytes: number): boolean;
  end(): void;
}

/** Undefined: there is no room for the beginning of a body. */
export type BeginBody = (caller: unknown, length: number) => Arriving | undefined;

export function arrivingBodies(): BeginBody {
  let total = 0;
  const byHolder = new Map<string, number>();
  const add = (holder: string, bytes: number): boolean => {
    const held = (byHolder.get(holder) ?? 0) + bytes;
    if (bytes > 0 && (total + bytes > arrivingLimit || held > arrivingLimitOfOne)) return false;
    total += bytes;
    if (held > 0) byHolder.set(holder, held);
    else byHolder.delete(holder);
    return true;
  };
  return (caller, length) => {
    const holder = holderOf(caller);
    let counted = Math.min(length, firstPart);
    let received = 0;
    if (!add(holder, counted)) return undefined;
    return {
      receive: (bytes) => {
        received += bytes;
        const more = received - counted;
        if (more <= 0) return true;
        if (!add(holder, more)) return false;
        counted = received;
        return true;
      },
      end: () => {
        add(holder, -counted);
        counted = 0;
        received = -Infinity;
      },
    };
  };
}

/** Who is counted together: a user with their access tokens, the workers of a space. */
function holderOf(caller: unknown): string {
  const { user_id, owner_id, id, user, worker } = (caller ?? {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof user === "object" || typeof worker === "object") return holderOf(user ?? worker);
  const holder = user_id ?? owner_id ?? id;
  return typeof holder === "string" ? holder : "";
}
