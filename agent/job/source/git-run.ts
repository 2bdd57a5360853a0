/** Runs git with the tokens for one repository and nothing of this machine's settings. */
import { gitAccessEnvironment, gitEnvironment } from "./git-access.ts";
import { StepFailedError, type JobSettings } from "../context.ts";
import type { Isolation } from "../isolation/isolation.ts";
import type { Workspace } from "../workspace.ts";
import { mebibyte } from "../../../common/units.ts";

export type GitSettings = Pick<JobSettings, "path" | "network" | "gitAccess" | "sourceBytes"> & {
  /** Undefined in tests: no limits. */
  readonly isolation?: Pick<Isolation, "bound" | "give">;
};

export interface GitPlace {
  readonly workspace: Workspace;
  readonly settings: GitSettings;
  readonly signal: AbortSignal;
  /** `https:ssh`; tests allow others. */
  readonly protocols: string;
  /** Git runs as the user of the job, if it has one. */
  readonly asJob: boolean;
  /** How many files the repository and its submodules have so far. */
  readonly found: { files: number };
}

/** Runs git and returns its output. Throws `StepFailedError` with git's own message. */
export type Git = (...args: string[]) => Promise<string>;

export interface GitEnd {
  /** Undefined if a signal has ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** Whether the output is longer than the limit, which ends git. */
  readonly isCut: boolean;
  /** Has git's own message. */
  failure(): StepFailedError;
}
type GitRun = (...args: string[]) => Promise<GitEnd>;

/** Returns git in a directory, for a repository at this address. */
export const gitIn = async (folder: string, url: string, place: GitPlace): Promise<Git> =>
  checked(await gitRunIn(folder, url, place));

export const checked =
  (run: GitRun): Git =>
  async (...args) => {
    const end = await run(...args);
    if (end.code !== 0) throw end.failure();
    return end.stdout.trim();
  };

/** The same, where an exit code says something. `onOutput` gets the output instead. */
export async function gitRunIn(
  folder: string,
  url: string,
  { workspace, settings, signal, protocols, asJob }: GitPlace,
  maxBuffer = mebibyte,
  onOutput?: (part: Uint8Array) => void,
): Promise<GitRun> {
  const { path, network, gitAccess, isolation } = settings;
  // Takes 40 ms to load, and only git needs it.
  const { execa } = await import("execa");
  const env = {
    ...network,
    PATH: path,
    LANG: "C.UTF-8",
    HOME: workspace.home,
    TMPDIR: workspace.temporary,
    ...gitEnvironment(protocols),
    ...gitAccessEnvironment(gitAccess, url, network),
  };
  return async (...args) => {
    const words = ["git", "-c", "core.hooksPath=/dev/null", ...args];
    const [program = "", ...rest] = isolation?.bound(words, asJob) ?? words;
    const run = execa(program, rest, {
      cwd: folder,
      extendEnv: false,
      env,
      stdin: "ignore",
      cancelSignal: signal,
      reject: false,
      maxBuffer,
      ...(onOutput && { stdout: { binary: true, transform: discarded(onOutput) } }),
      // A process group of its own, so that everything that git has started ends with it.
      detached: true,
    });
    const end = (): void => killGroup(run.pid);
    signal.addEventListener("abort", end);
    const result = await run.finally(() => signal.removeEventListener("abort", end));
    return {
      code: result.exitCode,
      stdout: result.stdout,
      isCut: result.isMaxBuffer,
      failure: () => failureOf(args, result.stderr, result.shortMessage ?? ""),
    };
  };
}

/** If the function throws, git is ended. */
const discarded = (take: (part: Uint8Array) => void) =>
  // eslint-disable-next-line require-yield -- nothing is kept
  function* (part: unknown): Generator<never, void, void> {
    take(part as Uint8Array);
  };

function failureOf(args: readonly string[], stderr: string, shortMessage: string): StepFailedError {
  const said = causeIn(stderr);
  if (/returned error: 30\d/.test(said)) {
    return new StepFailedError(
      `source: the repository has moved (${said}): use its new address, because a token is not sent after a redirect`,
    );
  }
  const [, commit] = /(?:unadvertised object|not our ref) ([0-9a-f]{40,64})/.exec(stderr) ?? [];
  if (commit !== undefined) {
    return new StepFailedError(
      `source: the git server does not give out the commit ${commit}, because no branch or tag points to it any more: ` +
        "make a new plan, of a branch, a tag or a commit that one of them points to",
    );
  }
  const command = args.find((word) => /^[a-z-]+$/.test(word) && word !== "-c") ?? "";
  return new StepFailedError(`source: git ${command} failed: ${said || shortMessage}`);
}

/** Lines of git's error in a message; a host may write any number before them. */
const linesKept = 10;
const causeLimit = 2000;
/** What git says after every failure of ssh. */
const advice =
  /^(Please make sure you have the correct access rights|and the repository exists\.)$/;

function causeIn(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  const said = lines.filter((line) => line !== "" && !advice.test(line));
  return said.slice(-linesKept).join(" ").slice(-causeLimit);
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
