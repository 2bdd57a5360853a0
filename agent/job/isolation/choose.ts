/** Finds out which isolation level works on this machine: tries each by running a program in it. */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openRun, type RunEnd } from "../terraform/process.ts";
import { workspaceAt } from "../workspace.ts";
import { closedFolder, openWorkDir } from "./by-user.ts";
import { levels, type IsolationSettings, type Level } from "./isolation.ts";
import { freeUser, openIsolation } from "./open.ts";
import { closeTemporary } from "./temporary.ts";
import { minute } from "../../../common/units.ts";

/** The required level does not work on this machine; the message says what is missing. */
export class IsolationMissingError extends Error {
  override readonly name = "IsolationMissingError";
}

export interface Choice {
  readonly level: Level;
  /** What each stronger level needs: one line each. */
  readonly missing: readonly string[];
}

const rootNeedsName =
  "the agent is root, so jobs would be root as well; set WINDLASS_ISOLATION=process if every configuration may do everything that root may do";

const imageNeedsName =
  "jobs could read and change everything that the agent can; set WINDLASS_ISOLATION=process to accept that";

/** What the level `uid` needs: to switch users, and to reach, give away and end what is theirs. */
export const uidCapabilities = ["SETUID", "SETGID", "CHOWN", "KILL", "DAC_OVERRIDE", "FOWNER"];

/** How a container of the image gets a level that isolates. */
export const imageAdvice = `Start the container as root (--user 0) with no capabilities but ${uidCapabilities.join(", ")}: then each job is a user of its own`;

type Probing = Omit<IsolationSettings, "level">;

/**
 * Returns the required level, else the strongest that works. Throws `IsolationMissingError` if that
 * is none, or `process` for root or in a container, where the setting must name it.
 */
export async function chooseIsolation(
  settings: Probing,
  asked?: Level,
  isInImage = false,
): Promise<Choice> {
  try {
    if (settings.users) openWorkDir(settings.workDir);
  } catch (error) {
    throw new IsolationMissingError((error as Error).message);
  }
  if (asked) {
    const lack = await lackOf(asked, settings);
    if (lack === undefined) return { level: asked, missing: [] };
    throw new IsolationMissingError(`WINDLASS_ISOLATION=${asked} does not work here: ${lack}`);
  }
  const missing: string[] = [];
  const needsName = settings.users ? rootNeedsName : isInImage ? imageNeedsName : undefined;
  for (const level of levels.toReversed()) {
    const lack = (await lackOf(level, settings)) ?? (level === "process" ? needsName : undefined);
    if (lack === undefined) return { level, missing };
    missing.push(`${level}: ${lack}`);
  }
  throw new IsolationMissingError(
    `no isolation level works here: ${missing.join("; ")}${isInImage ? `. ${imageAdvice}` : ""}`,
  );
}

/** Returns what the level lacks on this machine, or undefined if it works. */
export async function lackOf(level: Level, settings: Probing): Promise<string | undefined> {
  return needOf(level, settings) ?? (await failureOf(level, settings));
}

/** Reports what can be checked without a trial, more clearly than the failing tool would. */
function needOf(level: Level, { users, workDir, container }: Probing): string | undefined {
  if (level === "process") return undefined;
  if (level === "uid" && !users) return "it needs an agent that runs as root";
  if (level === "container" && container.image === undefined) {
    return "WINDLASS_CONTAINER_IMAGE is not set: set it to the image in which jobs run";
  }
  const closed = users && closedFolder(dirname(workDir));
  if (!closed) return undefined;
  return `jobs run as other users, who cannot enter ${closed}: allow it (chmod o+x) or set WINDLASS_WORK_DIR to another directory`;
}

/** Reads and writes a file of the job, writes a temporary one, and tries to read the agent's. */
const trial = `
cat "$1/given" && echo made > "$1/made" && : > "$TMPDIR/plugin0123456789" && ! cat "$2" 2> /dev/null
`;

async function failureOf(level: Level, settings: Probing): Promise<string | undefined> {
  const id = `probe-${randomUUID()}`;
  const workspace = workspaceAt(join(settings.workDir, "workspaces", id));
  const directory = join(settings.workDir, id);
  const hidden = join(directory, "hidden");
  const place = { id, workspace, state: undefined, user: undefined as number | undefined };
  try {
    place.user = (level === "process" ? null : freeUser(settings)) ?? undefined;
    for (const folder of Object.values(workspace.folders)) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    }
    mkdirSync(directory, { mode: 0o700 });
    writeFileSync(join(workspace.source, "given"), id, { mode: 0o600 });
    // At the weakest level, the job can read everything.
    if (level !== "process") writeFileSync(hidden, id, { mode: 0o600 });
    const isolation = openIsolation(level, place, { ...settings, level });
    isolation.give(...Object.values(workspace.folders).filter((path) => path !== workspace.root));
    const run = openRun(
      isolation.wrap({
        directory,
        command: "/bin/sh",
        args: ["-c", trial, "sh", workspace.source, hidden],
        cwd: workspace.source,
        env: { PATH: settings.path, TMPDIR: isolation.temporary() },
      }),
    );
    const timer = setTimeout(() => void run.stop({ first: 0, second: 0 }, 0), trialLimit);
    const end = await run.ended;
    clearTimeout(timer);
    const said = readFileSync(join(directory, "stdout"), "utf8");
    if (end.kind !== "exited" || end.code !== 0 || said !== id) return reason(end, directory);
    await isolation.killAll();
    if (readFileSync(join(workspace.source, "made"), "utf8") !== "made\n") {
      return "files that a job writes do not appear in its directory";
    }
    await isolation.leave();
    await isolation.remove();
    return undefined;
  } catch (error) {
    return (error as Error).message.trim().split("\n").at(-1);
  } finally {
    closeTemporary(workspace);
    rmSync(workspace.root, { recursive: true, force: true });
    rmSync(directory, { recursive: true, force: true });
  }
}

const trialLimit = minute;

function reason(end: RunEnd, directory: string): string {
  if (end.kind !== "exited") return "its trial could not be started";
  // The first line is the cause; docker adds a hint about its help.
  const [said = ""] = readFileSync(join(directory, "stderr"), "utf8").trim().split("\n");
  const [, absent] = /exec: (\S+): not found/.exec(said) ?? [];
  const [, hidden] = /failed to execute (\S+): No such file/.exec(said) ?? [];
  const program = absent ?? hidden;
  if (program !== undefined) return `${program} is not on the PATH`;
  if (said.includes("Can't mount proc"))
    return `${said} (in a container, allow it with --security-opt systempaths=unconfined; with podman, unmask=ALL)`;
  return said === ""
    ? `its trial ended with exit code ${end.code}, or could read a file of the agent`
    : said.slice(0, 500);
}
