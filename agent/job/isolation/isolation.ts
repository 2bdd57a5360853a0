/**
 * What sets the processes of one job apart from the agent, from other jobs and from the machine. One file per level; what each
 * guards against stands in docs/isolation.md. No level ties a job's life to the agent's: an apply goes on when its agent is killed.
 */
import type { RunCommand } from "../terraform/spawn.ts";
import type { Workspace } from "../workspace.ts";

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
  /** Whether the kernel has ended a command of the job for its memory. */
  isOutOfMemory(): boolean;
  /** Ends what is left, removes the workspace and takes back what was given outside of it. */
  wipe(): Promise<void>;
}

export interface ContainerSettings {
  readonly engine: "docker" | "podman";
  readonly image: string | undefined;
  /** What the engine's client needs to find its engine: HOME, DOCKER_HOST and the like. Never the job's. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How much of the machine one job may take; 0: no limit. */
export interface JobLimits {
  /** Of one process: what it has allocated (RLIMIT_DATA). Go reserves far more address space than it uses, so that is not limited. */
  readonly memoryBytes: number;
  /** Processes and threads. Counted by user, so it holds where the job has a user of its own. */
  readonly processes: number;
  /** Of one file, its holes included. */
  readonly fileBytes: number;
}

/** What a level brings along. */
export type LevelIsolation = Omit<Isolation, "isOutOfMemory">;

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
  /** Where groups of jobs are made (cgroup v2); absent: the limits are those of each process. */
  readonly groups?: string | undefined;
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
