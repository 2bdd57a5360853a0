/**
 * Separates a job from the agent, from other jobs and from the machine, by a level as
 * docs/isolation.md describes. At none does a job end with its agent, so that an apply continues.
 */
import type { RunCommand } from "../terraform/spawn.ts";
import type { Workspace } from "../workspace.ts";

/** Weakest first. */
export const levels = ["process", "uid", "bubblewrap", "container"] as const;
export type Level = (typeof levels)[number];

/** Shown wherever jobs run at level `process`. */
export const processWarning =
  "Jobs run as the runner's own user: a configuration can read and change everything that the runner can, including its identity and other jobs";

export interface Isolation {
  readonly level: Level;
  /** Where the job sees it: short enough for the Unix sockets of providers. */
  temporary(): string;
  /** What the job writes in these directories does not outlive it. Their subdirectories included. */
  readonly passing: readonly string[];
  /** Returns the command that runs this one in isolation. */
  wrap(command: RunCommand): RunCommand;
  /** The same for a program that the agent runs for the job outside of its sandbox, with its limits. */
  bound(words: readonly string[], asJob: boolean): readonly string[];
  /** Gives the job files and directories that the agent has put into the workspace. */
  give(...paths: string[]): void;
  /** Returns the processes that are still alive, in a hung system call. */
  killAll(): Promise<number[]>;
  /** Whether the kernel has ended a command of the job because of its memory. */
  isOutOfMemory(): boolean;
  /** Kills what is left and moves the workspace away, in milliseconds, to free its place. */
  leave(): Promise<void>;
  /** After `leave`: removes everything that the job has left. */
  remove(): Promise<void>;
}

export interface ContainerSettings {
  readonly engine: "docker" | "podman";
  readonly image: string | undefined;
  /** What the container client needs, such as HOME and DOCKER_HOST. Never the job's. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How much of the machine one job may use; 0: no limit. */
export interface JobLimits {
  /** What a process has allocated (RLIMIT_DATA): Go reserves far more than it uses. */
  readonly memoryBytes: number;
  /** Processes and threads, which the kernel counts by user: only for a job with its own user. */
  readonly processes: number;
  /** The size of one file, its holes included. */
  readonly fileBytes: number;
}

export type LevelIsolation = Omit<Isolation, "isOutOfMemory" | "bound">;

export interface IsolationSettings {
  readonly level: Level;
  readonly workDir: string;
  readonly path: string;
  /** Users for jobs; undefined: the agent is not root and cannot switch users. */
  readonly users: readonly [first: number, last: number] | undefined;
  /** Paths that jobs may read, at levels that hide all but the system's. */
  readonly readable: readonly string[];
  readonly container: ContainerSettings;
  /** Undefined: no limits. */
  readonly limits?: JobLimits | undefined;
  /** The jobs' control groups (cgroup v2); undefined: the limits apply to each process. */
  readonly groups?: string | undefined;
}

/** Names the job and its places. */
export interface Place {
  readonly id: string;
  readonly workspace: Workspace;
  /** The directory of a state that the agent keeps itself. */
  readonly state: string | undefined;
  /** The user that the job runs as, and its group with the same number. */
  readonly user: number | undefined;
}
