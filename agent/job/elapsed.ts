/** Measures a job by the machine's uptime, which outlives the agent and no change of the clock affects. */
import { bootId } from "../machine/process-identity.ts";
import type { Entry, Journal } from "./journal.ts";

const uptime = (): number => process.hrtime()[0];

export const startedNow = (): Entry => ({ at: "started", boot: bootId(), uptime: uptime() });

/** In whole seconds; undefined before the start, or if the machine was started since. */
export function secondsSinceStart({ find }: Pick<Journal, "find">): number | undefined {
  const started = find("started");
  return started?.boot === bootId() ? uptime() - started.uptime : undefined;
}
