/**
 * Removes what jobs left where every user may leave files. There may be many others, so one search
 * serves many jobs, takes a tenth of the time at most, and no job waits for it.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { runProgram } from "../../machine/programs.ts";
import { minute, second } from "../../../common/units.ts";

export const sharedFolders = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"];

/** Returns the command that runs this one as a user without rights. */
export type AsUser = (user: number, command: readonly string[]) => readonly string[];

interface Search {
  readonly users: number[];
  readonly done: Promise<void>;
}

/** The one that has not begun yet. */
let next: Search | undefined;
let last: Promise<void> = Promise.resolve();
/** The time before which none begins. */
let restUntil = 0;
const longestRest = 5 * second;

/** Resolves when the files that this user left are removed. What cannot be removed stays. */
export function removeShared(user: number, path: string, asUser: AsUser): Promise<void> {
  if (!next) {
    const users: number[] = [];
    last = last.then(async () => {
      await sleep(Math.max(0, restUntil - performance.now()));
      next = undefined;
      const began = performance.now();
      await removeOf(users, path, asUser);
      const now = performance.now();
      restUntil = now + Math.min(9 * (now - began), longestRest);
    });
    next = { users, done: last };
  }
  next.users.push(user);
  return next.done;
}

/** Looks with the agent's rights and removes as the user who left it, so that nothing else goes. */
async function removeOf(users: readonly number[], path: string, asUser: AsUser): Promise<void> {
  const folders = sharedFolders.filter(existsSync);
  const options = { env: { PATH: path }, timeout: minute, cwd: "/" };
  for (const user of await ownersIn(folders, users, options)) {
    const find = ["find", ...folders, "-xdev", "-depth", "-user", String(user), "-delete"];
    const [program = "", ...args] = asUser(user, find);
    await runProgram(program, args, options).catch(() => undefined);
  }
}

/**
 * Enters only directories that every user may write: in others, a job has nothing unless it owns a
 * directory above.
 */
async function ownersIn(
  folders: readonly string[],
  users: readonly number[],
  options: { readonly env: Readonly<Record<string, string>>; readonly timeout: number },
): Promise<readonly number[]> {
  const isOfOne = users.flatMap((user) => ["-o", "-user", String(user)]).slice(1);
  const isClosed = ["-type", "d", "!", "-perm", "-0002", "-prune"];
  const args = [
    "-xdev",
    "-ignore_readdir_race",
    "(",
    ...isOfOne,
    ")",
    "-prune",
    // Not the names: a name need not be UTF-8.
    "-printf",
    "%U\\n",
    "-o",
    ...isClosed,
  ];
  try {
    const found = await runProgram("find", [...folders, ...args], options);
    const owners = new Set(found.split("\n"));
    return users.filter((user) => owners.has(String(user)));
  } catch {
    // A directory that disappeared in the meantime, or more files than the agent reads.
    return users;
  }
}
