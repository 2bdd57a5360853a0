/** Opens the isolation of a job: its level, and the user that it runs as. */
import { randomInt } from "node:crypto";
import type { ClaimedJob } from "../../../protocol/executions.ts";
import type { Journal } from "../journal.ts";
import { localStateFolder, type Workspace } from "../workspace.ts";
import { byBubblewrap, sandboxedWords } from "./by-bubblewrap.ts";
import { byContainer } from "./by-container.ts";
import { byProcess } from "./by-process.ts";
import { byUser, wordsAsUser } from "./by-user.ts";
import { JobGroup } from "./cgroup.ts";
import type {
  Isolation,
  IsolationSettings,
  JobLimits,
  Level,
  LevelIsolation,
  Place,
} from "./isolation.ts";
import { limited, limitedWords } from "./limits.ts";
import { processesOf } from "./processes.ts";

export function openIsolation(level: Level, place: Place, settings: IsolationSettings): Isolation {
  const { limits, groups } = settings;
  const isolation = {
    ...isolationAt(level, place, settings),
    isOutOfMemory: () => false,
    bound(words: readonly string[], asJob: boolean): readonly string[] {
      const user = asJob ? place.user : undefined;
      // Without root there is no other user. Keys of ssh are those of the agent's.
      const isInside = asJob && level === "bubblewrap" && place.user === undefined;
      const inside = isInside ? sandboxedWords(words, place, settings) : words;
      const own = user === undefined ? inside : wordsAsUser(user, words);
      // An agent on macOS has containers, and no prlimit.
      return limits && process.platform === "linux" ? limitedWords(own, user, limits) : own;
    },
  };
  if (!limits || level === "container") return isolation;
  if (groups !== undefined)
    return inGroup(isolation, place, limits, new JobGroup(groups, place.id));
  return { ...isolation, wrap: (command) => limited(isolation.wrap(command), place, limits) };
}

/** The control group limits the whole job. The size of files remains a limit of each process. */
function inGroup(
  isolation: Isolation,
  place: Place,
  limits: JobLimits,
  group: JobGroup,
): Isolation {
  const ofProcess = { ...limits, memoryBytes: 0, processes: 0 };
  const killAll = async (): Promise<number[]> => {
    const left = [...(await group.kill()), ...(await isolation.killAll())];
    return [...new Set(left)];
  };
  // Fixed text.
  const enter = 'echo 0 > "$0/cgroup.procs" || exit 126; exec "$@"';
  // Before systemd 254, the group of a running job has no limits while no agent runs.
  if (group.exists()) group.open(limits);
  return {
    ...isolation,
    wrap(command) {
      group.open(limits);
      return { ...limited(isolation.wrap(command), place, ofProcess), group: group.path };
    },
    bound(words, asJob) {
      group.open(limits);
      return ["/bin/sh", "-c", enter, group.path, ...isolation.bound(words, asJob)];
    },
    killAll,
    isOutOfMemory: () => group.isOutOfMemory(),
    async leave() {
      await killAll();
      await isolation.leave();
      group.remove();
    },
  };
}

function isolationAt(level: Level, place: Place, settings: IsolationSettings): LevelIsolation {
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

/** The journal names level and user, so they are the same after every restart. */
export function isolationOf(
  journal: Journal,
  claim: ClaimedJob,
  workspace: Workspace,
  settings: IsolationSettings,
): Isolation {
  let placed = journal.find("placed");
  if (!placed) {
    // A job that an agent without levels has started continues without.
    const level = journal.find("run") ? "process" : settings.level;
    placed = { at: "placed", level, user: level === "process" ? null : freeUser(settings) };
    journal.append(placed);
  }
  const user = placed.user ?? undefined;
  if (user !== undefined) taken.add(user);
  const state = localStateFolder(settings.workDir, claim);
  const place = { id: claim.job.id, workspace, state, user };
  const isolation = openIsolation(placed.level, place, settings);
  let left: number[] = [];
  return {
    ...isolation,
    async leave() {
      left = await isolation.killAll();
      await isolation.leave();
    },
    async remove() {
      await isolation.remove();
      if (user !== undefined && left.length === 0) taken.delete(user);
    },
  };
}

/** Returns a random user that runs nothing: agents need not coordinate among sixteen million. */
export function freeUser({ users }: Pick<IsolationSettings, "users">): number | null {
  if (!users) return null;
  const [first, last] = users;
  for (let tries = 0; tries < 1000; tries++) {
    const user = randomInt(first, last + 1);
    if (!taken.has(user) && processesOf(user).length === 0) return user;
  }
  throw new Error(`all users of WINDLASS_JOB_UIDS=${first}-${last} are in use: set a larger range`);
}
