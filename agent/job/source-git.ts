/** Git as a source: one commit, over https or ssh, with nothing of it run on this machine. */
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StepFailed, type JobSettings } from "./context.ts";
import type { SourceRevision } from "./facts.ts";
import type { Workspace } from "./workspace.ts";

export interface GitWish {
  readonly url: string;
  /** A branch, a tag or a commit; absent: the default branch. */
  readonly ref?: string | undefined;
}

/** Fetches exactly one commit into the source folder and says which. `protocols` is there for tests. */
export async function fetchGit(
  { url, ref = "HEAD" }: GitWish,
  workspace: Workspace,
  settings: Pick<JobSettings, "path" | "network">,
  signal: AbortSignal,
  protocols = "https:ssh",
): Promise<SourceRevision> {
  if (!isSafeUrl(url, protocols.split(":"))) {
    throw new StepFailed("source: only https and ssh addresses of git repositories are fetched");
  }
  if (!isSafeRef(ref)) throw new StepFailed(`source: "${ref}" cannot be the name of a git ref`);
  const git = await runner(workspace, settings, signal, protocols);
  await git("init", "--quiet");
  await git("fetch", "--quiet", "--depth=1", "--no-tags", "--", url, ref);
  await git("checkout", "--quiet", "--detach", "FETCH_HEAD");
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

/** As `git check-ref-format` has it, and nothing that could be read as an option or a refspec. */
export const isSafeRef = (ref: string): boolean =>
  /^[A-Za-z0-9_][A-Za-z0-9_./@+#=-]*$/.test(ref) &&
  !/\.\.|\/\/|@\{|\/\.|\.lock(\/|$)|[./]$/.test(ref) &&
  ref.length <= 255;

async function runner(
  workspace: Workspace,
  settings: Pick<JobSettings, "path" | "network">,
  signal: AbortSignal,
  protocols: string,
): Promise<(...args: string[]) => Promise<string>> {
  // 40 ms to load, for git alone.
  const { execa } = await import("execa");
  const askpass = join(workspace.temporary, "no-password");
  await writeFile(askpass, "#!/bin/sh\nexit 1\n");
  await chmod(askpass, 0o700);
  return async (...args) => {
    const result = await execa("git", ["-c", "core.hooksPath=/dev/null", ...args], {
      cwd: workspace.source,
      extendEnv: false,
      env: {
        ...settings.network,
        PATH: settings.path,
        LANG: "C.UTF-8",
        HOME: workspace.home,
        TMPDIR: workspace.temporary,
        GIT_TERMINAL_PROMPT: "0",
        GIT_ASKPASS: askpass,
        GIT_SSH_COMMAND: "ssh -oBatchMode=yes",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_ALLOW_PROTOCOL: protocols,
      },
      stdin: "ignore",
      cancelSignal: signal,
      reject: false,
      maxBuffer: 1024 * 1024,
    });
    if (result.exitCode === 0) return result.stdout.trim();
    const said = result.stderr.trim().split("\n").slice(-3).join(" ");
    throw new StepFailed(`source: git ${args[0]} failed: ${said || (result.shortMessage ?? "")}`);
  };
}
