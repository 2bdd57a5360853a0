/**
 * Level `process`: the agent's user, who can read all that the agent can. Processes that left the
 * group are found by a mark in their environment, which a hostile job can remove.
 */
import { dirname } from "node:path";
import { enter } from "./enter.ts";
import type { LevelIsolation, Place } from "./isolation.ts";
import { endAll, killEach, processesWith } from "./processes.ts";
import { closeTemporary, openTemporary } from "./temporary.ts";
import { endedPath, moveAway, removeTree } from "./wipe.ts";

/** The weakest level, which works everywhere. */
export function byProcess({ id, workspace }: Place): LevelIsolation {
  const mark = markOf(id);
  return {
    level: "process",
    temporary: () => openTemporary(workspace),
    passing: [dirname(workspace.root)],
    wrap: (command) => enter(command, mark),
    give: () => undefined,
    killAll: () => endAll(() => processesWith(mark), killEach),
    leave: () => {
      closeTemporary(workspace);
      return moveAway(workspace.root, id);
    },
    remove: () => removeTree(endedPath(workspace.root, id)),
  };
}

/** In the environment of every process of the job that has not removed it. */
export const markOf = (id: string): string => `WINDLASS_JOB=${id}`;
