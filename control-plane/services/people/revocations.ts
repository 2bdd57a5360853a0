/** Ends responses that are still being sent when the credential of their request ends. */
import { ticking } from "../../../common/every.ts";
import { minute } from "../../../common/units.ts";
import { spaceOf, type UserCaller, type WorkerCaller } from "../callers.ts";
import { zonesText } from "../../domain/roles.ts";
import { acceptsToken } from "../../domain/worker.ts";
import { findWorkerCaller } from "../../store/workers/workers.ts";
import { asSystem } from "../../store/spaces.ts";
import type { Context } from "../context.ts";
import { isLive } from "./credentials.ts";
import { goesOn } from "./provider-sessions.ts";

/** How often the credentials are checked, because a wakeup may be lost, and a login may expire. */
const lookMilliseconds = 500;
/** How often it is checked whether the session at the provider goes on, as for a page. */
const providerMilliseconds = minute;

type Caller = UserCaller | WorkerCaller;

export interface Revocations {
  /** Calls `cut` at the end of login, token or membership. Returns a function to stop watching. */
  watch(caller: Caller, cut: () => void): () => void;
  close(): void;
}

export function watchRevocations(context: Context): Revocations {
  const { wakeups } = context;
  /** By credential, and the space in which it acts. */
  const watched = new Map<string, { caller: Caller; cuts: Set<() => void>; checked: number }>();

  const look = async (): Promise<void> => {
    for (const entry of watched.values()) {
      const { caller, cuts } = entry;
      if (isUser(caller) && entry.checked < context.now() - providerMilliseconds) {
        entry.checked = context.now();
        // A slow provider must not keep the others waiting.
        void goesOn(context, caller.login_id).catch(() => undefined);
      }
      if (!(await isValid(context, caller))) for (const cut of cuts) cut();
    }
  };
  // If the store cannot be read, the next round tries again.
  const tryLook = () => void look().catch(() => undefined);
  const unlisten = [wakeups.listen("login", tryLook), wakeups.listen("worker", tryLook)];
  let endLooking: (() => void) | undefined;

  return {
    watch: (caller, cut) => {
      const key = isUser(caller)
        ? `${caller.login_id} ${caller.space_id} ${accessOf(caller)}`
        : `${caller.id} ${caller.presented_hash}`;
      const entry = watched.get(key) ?? {
        caller,
        cuts: new Set<() => void>(),
        checked: context.now(),
      };
      watched.set(key, entry);
      entry.cuts.add(cut);
      // Not in the spaces of the person who is watched first.
      endLooking ??= asSystem(() => ticking(lookMilliseconds, tryLook));
      return () => {
        entry.cuts.delete(cut);
        if (entry.cuts.size === 0) watched.delete(key);
        if (watched.size > 0) return;
        endLooking?.();
        endLooking = undefined;
      };
    },
    close: () => {
      endLooking?.();
      for (const end of unlisten) end();
    },
  };
}

/** A caller that was admitted with another access is watched by itself. */
function accessOf(caller: UserCaller): string {
  const own = spaceOf(caller);
  return own ? `${own.role} ${zonesText(own.zones)} ${own.configurations?.join() ?? ""}` : "";
}

const isUser = (caller: Caller): caller is UserCaller => "login_id" in caller;

async function isValid(context: Context, caller: Caller): Promise<boolean> {
  if (isUser(caller)) return isLive(context, caller);
  const worker = await context.store.read.first(findWorkerCaller, { id: caller.id });
  return acceptsToken(worker, caller.presented_hash, context.now());
}
