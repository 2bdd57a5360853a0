/**
 * Level `bubblewrap`: a sandbox of namespaces in which the job sees only the system's programs, its
 * own directories and its own processes; below an agent that is root, as a user of its own. It has
 * the machine's network, for providers and the credentials on loopback.
 */
import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, sep } from "node:path";
import type { RunCommand } from "../terraform/spawn.ts";
import { byProcess, markOf } from "./by-process.ts";
import { asUser, byUser, closedFolder } from "./by-user.ts";
import { enter } from "./enter.ts";
import type { LevelIsolation, IsolationSettings, Place } from "./isolation.ts";
import { sandboxTemporary } from "./temporary.ts";

export function byBubblewrap(place: Place, settings: IsolationSettings): LevelIsolation {
  const outer = place.user === undefined ? byProcess(place) : byUser(place, settings);
  return {
    ...outer,
    level: "bubblewrap",
    temporary: () => sandboxTemporary,
    // Elsewhere, the job can only write to memory.
    passing: ["/"],
    wrap(command) {
      const inside = sandbox(command, place, settings);
      return place.user === undefined ? inside : asUser(inside, place.user);
    },
  };
}

/** `--as-pid-1`: its namespace ends with terraform. Never `--die-with-parent` (isolation.ts). */
function sandbox(command: RunCommand, place: Place, settings: IsolationSettings): RunCommand {
  const program = realpathSync(command.command);
  const inner = enter({ ...command, command: program }, markOf(place.id));
  const args = [
    namespaces,
    ["--new-session", "--as-pid-1", "--info-fd", "4"],
    systemsPart(place, settings),
    ["--ro-bind", program, program],
    ["--ro-bind", place.workspace.root, place.workspace.root],
    ...writableFor(place).map((path) => ["--bind", path, path]),
    ["--bind", place.workspace.temporary, sandboxTemporary],
    ["--remount-ro", "/", "--chdir", command.cwd, "--"],
    [inner.command, ...inner.args],
  ].flat();
  return { ...inner, command: "bwrap", args, tellsChild: true };
}

/**
 * Returns the words that run these for the agent in the same sandbox, with the agent's user. They
 * end with the agent, and see of its files only these directories of the job.
 */
export const sandboxedWords = (
  words: readonly string[],
  place: Place,
  settings: IsolationSettings,
): string[] => {
  const { source, home, temporary } = place.workspace;
  const writable = [source, home, temporary].flatMap((path) => ["--bind", path, path]);
  const options = ["--die-with-parent", ...systemsPart(place, settings), ...writable];
  const closed = ["--remount-ro", "/", "--remount-ro", "/tmp"];
  return ["bwrap", ...namespaces, ...options, ...closed, "--", ...words];
};

const namespaces = [
  ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
  ["--cap-drop", "ALL"],
].flat();

const systemsPart = (place: Place, settings: IsolationSettings): string[] =>
  [
    ["--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"],
    systemFolders(),
    ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"],
    // The target of /etc/resolv.conf on many machines.
    ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"],
    ...readableFor(place, settings).map((path) => ["--ro-bind", path, path]),
  ].flat();

/** What the job may write. The rest of its workspace belongs to the agent. */
export const writableFor = ({ workspace, state }: Place): string[] => [
  workspace.source,
  workspace.home,
  workspace.temporary,
  workspace.artifact,
  ...(existsSync(workspace.debug) ? [workspace.debug] : []),
  ...(state !== undefined && existsSync(state) ? [state] : []),
];

/** The PATH, certificates and the operator's paths, as far as the job's user may enter them. */
function readableFor({ user }: Place, { path, workDir, readable }: IsolationSettings): string[] {
  const wanted = [...path.split(delimiter).filter(isAbsolute), ...readable];
  const found = wanted
    .filter((each) => existsSync(each))
    .map((each) => realpathSync(each))
    .filter((each) => !each.startsWith(`/usr${sep}`) && !each.startsWith(`/etc${sep}`))
    // Never the work directory or a directory above it.
    .filter((each) => !`${workDir}${sep}`.startsWith(each.endsWith(sep) ? each : `${each}${sep}`))
    .filter((each) => user === undefined || closedFolder(dirname(each)) === undefined);
  return [...new Set(found)];
}

/** `/bin` and the like: links into `/usr` on newer systems, directories on older ones. */
function systemFolders(): string[] {
  return ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]
    .filter(existsSync)
    .flatMap((path) =>
      lstatSync(path).isSymbolicLink()
        ? ["--symlink", readlinkSync(path), path]
        : ["--ro-bind", path, path],
    );
}
