/** Counts the bytes of bodies that have not arrived whole, by the user or owner who sends them. */
import { gibibyte, kibibyte, mebibyte } from "../../common/units.ts";

interface ArrivingLimits {
  /** For all callers together. */
  readonly all: number;
  /** For one user, or the workers of one space. */
  readonly one: number;
}

/** JSON bodies and forms are in memory. */
export const jsonLimits: ArrivingLimits = { all: 256 * mebibyte, one: 64 * mebibyte };
/** Archives, plans, debug logs and states are in files, or in parts of an object. */
export const uploadLimits: ArrivingLimits = { all: 4 * gibibyte, one: 512 * mebibyte };

/** What may have come with the head, before anything was counted. */
const firstPart = 64 * kibibyte;

export interface Arriving {
  /** Counts received bytes; false if there is no room for them. */
  receive(bytes: number): boolean;
  end(): void;
}

/** Undefined: there is no room for the beginning of a body. */
export type BeginBody = (caller: unknown, length: number) => Arriving | undefined;

export function arrivingBodies({ all, one }: ArrivingLimits): BeginBody {
  let total = 0;
  const byHolder = new Map<string, number>();
  const add = (holder: string, bytes: number): boolean => {
    const held = (byHolder.get(holder) ?? 0) + bytes;
    if (bytes > 0 && (total + bytes > all || held > one)) return false;
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
