/**
 * The command that a unit starts, by the path of its file; also where a shell enters the agent's
 * group first, before systemd 254.
 */
import { readFileSync } from "node:fs";

export const startedBy = (unit: string): string | undefined =>
  /^ExecStart=(?:\/bin\/sh -c '[^']*; exec ([^']+)'|(.+))$/m
    .exec(readFileSync(unit, "utf8"))
    ?.slice(1)
    .find(Boolean);
