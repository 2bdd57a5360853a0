/** The stand-in of Forgejo with a repository that git serves, and what people do to it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { serveGit } from "../agent/git-host.ts";
import { startForgejo } from "./forgejo.ts";
import { newPull } from "./stand-in.ts";

export async function startForge() {
  const root = mkdtempSync(join(tmpdir(), "forge-"));
  const host = await startForgejo({ full: ["write:repository", "write:issue"] }, (...call) => {
    serveGit(root, ...call);
  });
  const repository = host.addRepository("ada/infra");
  const { branches, pulls, compared } = repository;
  const folder = join(root, "ada/infra.git");
  mkdirSync(folder, { recursive: true });
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", folder, "-c", "user.name=x", "-c", "user.email=x@x", ...args], {
      encoding: "utf8",
      stdio: "pipe",
    }).trim();
  git("init", "--quiet", "--initial-branch=main");
  const changed = (from: string, to: string): string[] =>
    git("diff", "--name-only", `${from}...${to}`).split("\n").filter(Boolean);

  /** Lets the host know what git has. */
  const pushed = (branch: string): string => {
    const [from, to] = [branches.get(branch), git("rev-parse", branch)];
    branches.set(branch, to);
    if (from !== undefined) compared.set(`${from}...${to}`, changed(from, to));
    for (const pull of pulls.values()) {
      if (pull.head !== branch || pull.state !== "open") continue;
      pull.sha = to;
      pull.files.splice(0, Infinity, ...changed(pull.base, branch));
      git("update-ref", `refs/pull/${pull.number}/head`, to);
    }
    return to;
  };

  return {
    ...host,
    repository,
    cloneUrl: `${host.url}/ada/infra.git`,
    /** Adds a commit with these files to a branch, which begins at `main`. */
    commit: (branch: string, files: Readonly<Record<string, string>>): string => {
      if (branches.size > 0)
        git("checkout", "--quiet", ...(branches.has(branch) ? [branch] : ["-b", branch, "main"]));
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      git("add", ".");
      git("commit", "--quiet", "-m", "change");
      return pushed(branch);
    },
    open: (number: number, head: string): void => {
      pulls.set(number, newPull(number, { head }));
      pushed(head);
    },
    merge: (number: number): string => {
      const pull = pulls.get(number)!;
      git("checkout", "--quiet", pull.base);
      git("merge", "--quiet", "--no-ff", "-m", `Merge #${number}`, pull.head);
      pull.state = "closed";
      pull.merge = git("rev-parse", pull.base);
      return pushed(pull.base);
    },
    [Symbol.asyncDispose]: async () => {
      await host[Symbol.asyncDispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
