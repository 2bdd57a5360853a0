/**
 * Level `uid`: each job is a user who owns only its directories. The agent is root and keeps what
 * it must trust: the workspace's root, the wrapper, the log files, the engines.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { runProgram } from "../../machine/programs.ts";
import type { RunCommand } from "../terraform/spawn.ts";
import { enter } from "./enter.ts";
import type { LevelIsolation, IsolationSettings, Place } from "./isolation.ts";
import { endAll, processesOf } from "./processes.ts";
import { closeTemporary, openTemporary } from "./temporary.ts";
import { removeShared, sharedFolders } from "./shared-folders.ts";
import { removeSystemV } from "./system-v.ts";
import { endedPath, moveAway, removeTree } from "./wipe.ts";

export function byUser(
  { id, workspace, state, user }: Place,
  settings: IsolationSettings,
): LevelIsolation {
  if (user === undefined) throw new Error("the agent is not root and cannot run a job as a user");
  const agent = process.getuid?.() ?? 0;
  return {
    level: "uid",
    temporary: () => openTemporary(workspace),
    passing: [dirname(workspace.root), ...sharedFolders],
    wrap: (command) => asUser(enter(command), user),
    give(...paths) {
      // The job's group may enter; only the agent may write.
      chownSync(workspace.root, agent, user);
      chmodSync(workspace.root, 0o710);
      for (const path of paths) changeOwner(path, user);
    },
    // One call kills every process of the user, so that none can escape by forking. It spares the
    // calling process, which exits by itself. There may be no process left by then.
    killAll: () =>
      endAll(
        () => processesOf(user),
        async () => {
          const kill = ["/bin/sh", "-c", "kill -KILL -1 || :"];
          const [program, ...args] = wordsAsUser(user, kill);
          await runProgram(program, args, { env: { PATH: settings.path } });
        },
      ),
    async leave() {
      // Closes the directory first, so that a remaining process cannot replace a directory by a
      // link during the removal.
      if (existsSync(workspace.root)) chmodSync(workspace.root, 0o700);
      closeTemporary(workspace);
      if (state !== undefined && existsSync(state)) changeOwner(state, agent);
      await moveAway(workspace.root, id);
    },
    async remove() {
      await removeTree(endedPath(workspace.root, id));
      await removeSystemV(user, settings.path, wordsAsUser);
      await removeShared(user, settings.path, wordsAsUser);
    },
  };
}

/** Returns the command that runs this one as the user. */
export function asUser(command: RunCommand, user: number): RunCommand {
  const [program, ...args] = wordsAsUser(user, [command.command, ...command.args]);
  return { ...command, command: program, args };
}

/** Without groups and capabilities, and without a way to get any from a set-uid program. */
export const wordsAsUser = (user: number, words: readonly string[]): [string, ...string[]] => [
  "setpriv",
  `--reuid=${user}`,
  `--regid=${user}`,
  "--clear-groups",
  "--no-new-privs",
  "--inh-caps=-all",
  "--ambient-caps=-all",
  "--bounding-set=-all",
  "--",
  ...words,
];

/** Links are changed, not followed. A file with a second name may belong to another user. */
function changeOwner(path: string, user: number): void {
  const stat = lstatSync(path);
  if (!stat.isDirectory() && stat.nlink > 1) return;
  lchownSync(path, user, user);
  if (stat.isDirectory()) for (const name of readdirSync(path)) changeOwner(join(path, name), user);
}

/** Lets the users of jobs enter their own workspaces, and nothing else of the work directory. */
export function openWorkDir(workDir: string): void {
  // All users share /tmp and similar directories: the agent must not change their mode, and nothing
  // in them is safe from others.
  if (existsSync(workDir) && (statSync(workDir).mode & 0o022) !== 0)
    throw new Error(
      `${workDir} can be written by other users: set WINDLASS_WORK_DIR to a directory that only the agent uses`,
    );
  const folders = { "": 0o711, workspaces: 0o711, state: 0o711, engines: 0o755 };
  for (const [name, mode] of Object.entries(folders)) {
    mkdirSync(join(workDir, name), { recursive: true });
    chmodSync(join(workDir, name), mode);
  }
}

/** Returns the first directory of the path that other users may not enter. */
export function closedFolder(path: string): string | undefined {
  const parent = dirname(path);
  const above = parent === path ? undefined : closedFolder(parent);
  return above ?? ((statSync(path).mode & 0o001) === 0 ? path : undefined);
}
