/**
 * Limits whole jobs by control groups (cgroup v2) if the agent's own is delegated: one for each job
 * beside the agent's group `agent`, because only groups without controlled subgroups may have
 * processes. Else each process has limits of its own (limits.ts).
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { JobLimits } from "./isolation.ts";
import { endAll, killEach } from "./processes.ts";

const controllers = ["memory", "pids"] as const;
const agentGroup = "agent";
const prefix = "job-";

export type Delegation =
  /** The directory in which groups of jobs are made. */
  | { readonly folder: string; readonly lack?: undefined }
  | { readonly folder?: undefined; readonly lack: string };

/** Returns the group of a process, below the mount of cgroup v2, or undefined if it has none. */
export function groupOf(pid: number | "self"): string | undefined {
  const [, path] = /^0::(\/.*)$/m.exec(read(`/proc/${pid}/cgroup`)) ?? [];
  const mounts = read("/proc/self/mountinfo").split("\n");
  for (const line of path === undefined ? [] : mounts) {
    const [, root = "", point = ""] = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /.exec(line) ?? [];
    const inside = root === "/" ? path : path?.slice(path.startsWith(`${root}/`) ? root.length : 0);
    if (point !== "" && inside !== undefined && existsSync(join(point, inside, "cgroup.procs")))
      return join(point, inside);
  }
  return undefined;
}

/**
 * Whether this group can be divided. Changes nothing. `isUnit`: started by systemd, whose next
 * start would fail while a job runs unless the unit starts it in the subgroup.
 */
export function delegationOf(group: string | undefined, isUnit: boolean): Delegation {
  if (group === undefined) return { lack: "this machine has no cgroup v2 for this process" };
  const isInside = basename(group) === agentGroup;
  if (isUnit && !isInside)
    return {
      lack: "the unit does not start the agent in a subgroup: sudo windlass agent install writes one that does",
    };
  const folder = isInside ? dirname(group) : group;
  const offered = words(join(folder, "cgroup.controllers"));
  const missing = controllers.filter((name) => !offered.includes(name));
  if (missing.length > 0) return { lack: `${folder} has no controller ${missing.join(" and ")}` };
  try {
    for (const name of ["", "cgroup.procs", "cgroup.subtree_control"])
      accessSync(join(folder, name), constants.W_OK);
  } catch {
    return { lack: `${folder} is not delegated to this user` };
  }
  return { folder };
}

/** Divides the agent's own group. Called once, at its start. */
export function openDelegation(isUnit: boolean): Delegation {
  const group = groupOf("self");
  const delegation = delegationOf(group, isUnit);
  const { folder } = delegation;
  if (folder === undefined) return delegation;
  const own = join(folder, agentGroup);
  try {
    mkdirSync(own, { recursive: true });
    if (group !== own) moveTo(own);
    writeFileSync(
      join(folder, "cgroup.subtree_control"),
      controllers.map((c) => `+${c}`).join(" "),
    );
    return delegation;
  } catch (error) {
    // EBUSY: another process is in the group, such as the shell that started the agent.
    if (group !== own) leave(folder, own);
    return { lack: `${folder} cannot be divided: ${(error as Error).message}` };
  }
}

const moveTo = (group: string): void =>
  writeFileSync(join(group, "cgroup.procs"), String(process.pid));

function leave(folder: string, own: string): void {
  try {
    moveTo(folder);
    rmdirSync(own);
  } catch {
    // An empty group that stays does no harm.
  }
}

/** Returns the directory of the groups if that agent process limits its jobs by groups. */
export function dividedGroupOf(pid: number): string | undefined {
  const group = groupOf(pid);
  if (group === undefined || basename(group) !== agentGroup) return undefined;
  const divided = words(join(dirname(group), "cgroup.subtree_control"));
  return controllers.every((name) => divided.includes(name)) ? dirname(group) : undefined;
}

/** Returns the group of one job, the same one after every restart of the agent. */
export class JobGroup {
  readonly path: string;

  constructor(folder: string, id: string) {
    this.path = join(folder, prefix + id);
  }

  exists(): boolean {
    return existsSync(this.path);
  }

  /** Creates the group, or finds it with its limits. A limit of 0 means no limit. */
  open({ memoryBytes, processes }: Pick<JobLimits, "memoryBytes" | "processes">): void {
    mkdirSync(this.path, { recursive: true });
    if (memoryBytes > 0) {
      this.#limit("memory.max", memoryBytes);
      // The kernel ends all processes of the job together: terraform is of no use without its
      // provider.
      this.#write("memory.oom.group", "1");
    }
    if (processes > 0) this.#limit("pids.max", processes);
  }

  /** Whether the kernel has ended the job because of its memory. */
  isOutOfMemory(): boolean {
    return /^oom_kill [1-9]/m.test(read(join(this.path, "memory.events")));
  }

  /** Kills every process of the job, even a hidden one. Returns those still alive. */
  kill(): Promise<number[]> {
    const end = (pids: number[]): void => {
      // Kernels before 5.14 do not have this file.
      if (existsSync(join(this.path, "cgroup.kill"))) this.#write("cgroup.kill", "1");
      else killEach(pids);
    };
    return endAll(() => processesIn(this.path), end);
  }

  /** Removes the group. It stays while a process in it cannot be killed. */
  remove(): void {
    for (const path of [...subgroupsOf(this.path), this.path]) {
      try {
        rmdirSync(path);
      } catch (error) {
        if (!["ENOENT", "EBUSY"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
      }
    }
  }

  #limit(name: string, most: number): void {
    if (!/^\d/.test(read(join(this.path, name)))) this.#write(name, String(most));
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.path, name), text);
  }
}

/** Kills what runs in groups of jobs other than these, and removes the groups. */
export async function sweepGroups(folder: string, ids: readonly string[]): Promise<void> {
  const kept = new Set(ids);
  for (const name of foldersIn(folder)) {
    const id = name.slice(prefix.length);
    if (!name.startsWith(prefix) || kept.has(id)) continue;
    const group = new JobGroup(folder, id);
    await group.kill();
    group.remove();
  }
}

/** Deepest directories first. */
const subgroupsOf = (path: string): string[] =>
  foldersIn(path).flatMap((name) => [...subgroupsOf(join(path, name)), join(path, name)]);

const processesIn = (path: string): number[] =>
  [path, ...subgroupsOf(path)].flatMap((each) => words(join(each, "cgroup.procs")).map(Number));

const foldersIn = (path: string): string[] =>
  existsSync(path)
    ? readdirSync(path, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
    : [];

const words = (path: string): string[] => read(path).split(/\s+/).filter(Boolean);

/** Returns an empty text if the file no longer exists. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
