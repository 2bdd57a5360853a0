/**
 * What sets the processes of one job apart from the agent, from other jobs and from the machine. One file per level; what each
 * guards against stands in docs/isolation.md. No level ties a job's life to the agent's: an apply goes on when its agent is killed.
 */
import { randomInt } from "node:crypto";
import { processesOf } from "./processes.ts";
import type { ClaimedJob } from "../../../protocol/executions.ts";
import type { Journal } from "../journal.ts";
import type { RunCommand } from "../terraform/spawn.ts";
import { localStateFolder, type Workspace } from "../workspace.ts";
import { byBubblewrap } from "./by-bubblewrap.ts";
import { byContainer, type ContainerSettings } from "./by-container.ts";
import { byProcess } from "./by-process.ts";
import { byUser } from "./by-user.ts";
import { limited, type JobLimits } from "./limits.ts";

/** Weakest first. */
export const levels = ["process", "uid", "bubblewrap", "container"] as const;
export type Level = (typeof levels)[number];

/** Said wherever jobs run at level `process`. */
export const processWarning =
  "Jobs run as the runner's own user: a configuration can read and change what the runner can, its identity and other jobs included";

/** One job's. */
export interface Isolation {
  readonly level: Level;
  /** The path by which the job knows its folder for temporary files, short enough for the Unix sockets of providers. */
  temporary(): string;
  /** The command that runs this one apart. */
  wrap(command: RunCommand): RunCommand;
  /** Makes files and folders that the agent has put into the workspace the job's own. */
  give(...paths: string[]): void;
  /** Ends every process of the job. Answers those that are alive all the same: a process in a hung system call cannot be killed. */
  killAll(): Promise<number[]>;
  /** Ends what is left, removes the workspace and takes back what was given outside of it. */
  wipe(): Promise<void>;
}

export interface IsolationSettings {
  readonly level: Level;
  readonly workDir: string;
  readonly path: string;
  /** The first and the last user that jobs may run as; undefined: the agent is not root and cannot switch. */
  readonly users: readonly [first: number, last: number] | undefined;
  /** What jobs may read besides the system's own folders, where the level hides the rest. */
  readonly readable: readonly string[];
  readonly container: ContainerSettings;
  /** Absent: none. */
  readonly limits?: JobLimits | undefined;
}

/** Which job, and where. */
export interface Place {
  readonly id: string;
  readonly workspace: Workspace;
  /** The folder of a state that the agent keeps itself. */
  readonly state: string | undefined;
  /** The user that the job runs as, and its group of the same number. */
  readonly user: number | undefined;
}

/** The isolation of one job at this level. */
export function openIsolation(level: Level, place: Place, settings: IsolationSettings): Isolation {
  const isolation = isolationAt(level, place, settings);
  const { limits } = settings;
  if (!limits || level === "container") return isolation;
  return { ...isolation, wrap: (command) => limited(isolation.wrap(command), place, limits) };
}

function isolationAt(level: Level, place: Place, settings: IsolationSettings): Isolation {
  switch (level) {
    case "process":
      return byProcess(place);
    case "uid":
      return byUser(place, settings);
    case "bubblewrap":
      return byBubblewrap(place, settings);
    case "container":
      return byContainer(place, settings);
  }
}

/** Users of the jobs that this agent holds. */
const taken = new Set<number>();

/** Opens the isolation of a job, the same one after every restart: level and user stand in its journal. */
export function isolationOf(
  journal: Journal,
  claim: ClaimedJob,
  workspace: Workspace,
  settings: IsolationSettings,
): Isolation {
  let placed = journal.find("placed");
  if (!placed) {
    // One that an agent without levels has begun goes on as it began.
    const level = journal.find("run") ? "process" : settings.level;
    placed = { at: "placed", level, user: level === "process" ? null : freeUser(settings) };
    journal.append(placed);
  }
  const user = placed.user ?? undefined;
  if (user !== undefined) taken.add(user);
  const state = localStateFolder(settings.workDir, claim);
  const place = { id: claim.job.id, workspace, state, user };
  const isolation = openIsolation(placed.level, place, settings);
  return {
    ...isolation,
    async wipe() {
      const left = await isolation.killAll();
      await isolation.wipe();
      if (user !== undefined && left.length === 0) taken.delete(user);
    },
  };
}

/**
 * A user that nothing runs as. Drawn by lot, so that several agents on one machine need not know of each other: the usual range holds
 * sixteen million.
 */
export function freeUser({ users }: Pick<IsolationSettings, "users">): number | null {
  if (!users) return null;
  const [first, last] = users;
  for (let tries = 0; tries < 1000; tries++) {
    const user = randomInt(first, last + 1);
    if (!taken.has(user) && processesOf(user).length === 0) return user;
  }
  throw new Error(`no user of WINDLASS_JOB_UIDS=${first}-${last} is free`);
}
