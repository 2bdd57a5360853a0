/** Git as a source: one commit, over https or ssh, with nothing of it run on this machine. */
import { StepFailed, type JobSettings } from "./context.ts";
import type { SourceRevision } from "./plan-manifest.ts";
import { gitAccessEnvironment, gitEnvironment } from "./git-access.ts";
import type { Workspace } from "./workspace.ts";

export interface GitWish {
  readonly url: string;
  /** A branch, a tag or a commit; absent: the default branch. */
  readonly ref?: string | undefined;
}

export type GitSettings = Pick<JobSettings, "path" | "network" | "gitAccess">;

/** Fetches exactly one commit into the source folder and says which. `protocols` is there for tests. */
export async function fetchGit(
  wish: GitWish,
  workspace: Workspace,
  settings: GitSettings,
  signal: AbortSignal,
  protocols = "https:ssh",
): Promise<SourceRevision> {
  const { url, ref } = wish;
  if (!isSafeUrl(url, protocols.split(":"))) {
    throw new StepFailed("source: only https and ssh addresses of git repositories are fetched");
  }
  if (hasPassword(url)) {
    throw new StepFailed(
      "source: the address of the repository holds a password, which everybody sees who sees the configuration: " +
        "take it out and give the agent's WINDLASS_GIT_CREDENTIALS a token for that host",
    );
  }
  if (ref !== undefined && !isSafeRef(ref)) {
    throw new StepFailed(`source: "${ref}" cannot be the name of a git ref`);
  }
  return fetchCommit(wish, workspace, settings, signal, protocols);
}

/**
 * The fetching, which would run nothing of an address or a ref either if it had not been judged before. Submodules stay empty: a snapshot
 * has no word to ask for them.
 */
export async function fetchCommit(
  { url, ref = "HEAD" }: GitWish,
  workspace: Workspace,
  settings: GitSettings,
  signal: AbortSignal,
  protocols = "https:ssh",
): Promise<SourceRevision> {
  const environment = environmentFor(workspace, settings, url, protocols);
  const git = await runner(workspace, environment, signal);
  // Without the machine's templates, which may bring hooks.
  await git("init", "--quiet", "--template=");
  const fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"];
  await git(...fetch, "--", url, ref);
  await git("checkout", "--quiet", "--detach", "--no-recurse-submodules", "FETCH_HEAD");
  const commit = await git("rev-parse", "HEAD");
  if (/^[0-9a-f]{40,64}$/.test(ref) && commit !== ref) {
    throw new StepFailed(`source: git gave commit ${commit} for ${ref}`);
  }
  return { type: "git", digest: commit };
}

/** An address that names its protocol, or `user@host:path`. A leading dash or `ext::` would be an instruction to git. */
export function isSafeUrl(url: string, protocols: readonly string[]): boolean {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\u0000-\u0020\u007f]/.test(url) || url.startsWith("-")) return false;
  if (/^[A-Za-z0-9._-]+@[A-Za-z0-9][A-Za-z0-9.-]*:(?!\/\/)[^:]+$/.test(url)) {
    return protocols.includes("ssh");
  }
  const [, protocol = "", authority = ""] = /^([a-z+]+):\/\/([^/]*)\/./.exec(url) ?? [];
  if (authority === "" && protocol !== "file") return false;
  return protocols.includes(protocol) && !authority.startsWith("-") && !authority.includes("@-");
}

const hasPassword = (url: string): boolean => /^[a-z]+:\/\/[^/]*:[^/]*@/.test(url);

/** As `git check-ref-format` has it, and nothing that could be read as an option or a refspec. */
export const isSafeRef = (ref: string): boolean =>
  /^[A-Za-z0-9_][A-Za-z0-9_./@+#=-]*$/.test(ref) &&
  !/\.\.|\/\/|@\{|\/\.|\.lock(\/|$)|[./]$/.test(ref) &&
  ref.length <= 255;

function environmentFor(
  workspace: Workspace,
  { path, network, gitAccess }: GitSettings,
  url: string,
  protocols: string,
): Record<string, string> {
  return {
    ...network,
    PATH: path,
    LANG: "C.UTF-8",
    HOME: workspace.home,
    TMPDIR: workspace.temporary,
    ...gitEnvironment(protocols),
    ...gitAccessEnvironment(gitAccess, url, network),
  };
}

async function runner(
  workspace: Workspace,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<(...args: string[]) => Promise<string>> {
  // 40 ms to load, for git alone.
  const { execa } = await import("execa");
  return async (...args) => {
    const result = await execa("git", ["-c", "core.hooksPath=/dev/null", ...args], {
      cwd: workspace.source,
      extendEnv: false,
      env: { ...env },
      stdin: "ignore",
      cancelSignal: signal,
      reject: false,
      maxBuffer: 1024 * 1024,
    });
    if (result.exitCode === 0) return result.stdout.trim();
    const said = result.stderr.trim().split("\n").slice(-3).join(" ");
    if (/returned error: 30\d/.test(said)) {
      throw new StepFailed(
        `source: the repository has moved (${said}): name its present address, for no token is sent after a redirect`,
      );
    }
    throw new StepFailed(`source: git ${args[0]} failed: ${said || (result.shortMessage ?? "")}`);
  };
}
