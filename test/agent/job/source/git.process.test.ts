import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { fetchGit, isSafeUrl } from "../../../../agent/job/source/git.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";

const root = folderForFile();

const origin = join(root, "origin");
const settings = {
  path: process.env["PATH"] ?? "",
  network: {},
  gitAccess: [],
  sourceBytes: 1024 ** 3,
};
const never = new AbortController().signal;
const commits: string[] = [];
const git = (...args: string[]): string =>
  execFileSync("git", ["-C", origin, "-c", "user.name=x", "-c", "user.email=x@x", ...args], {
    encoding: "utf8",
    stdio: "pipe",
  }).trim();

beforeAll(() => {
  mkdirSync(origin);
  git("init", "--quiet", "--initial-branch=main");
  git("config", "uploadpack.allowAnySHA1InWant", "true");
  for (const text of ["one", "two"]) {
    writeFileSync(join(origin, "main.tf"), `# ${text}`);
    git("add", ".");
    git("commit", "--quiet", "-m", text);
    commits.push(git("rev-parse", "HEAD"));
  }
  git("tag", "v1", commits[0] ?? "");
  git("branch", "größe;(1)", commits[0] ?? "");
});

const workspace = () => newWorkspace(join(root, "work"));

describe("a repository", () => {
  test.each([
    ["the default branch", undefined, 1],
    ["a branch", "main", 1],
    ["a tag", "v1", 0],
    ["a branch with unusual characters", "größe;(1)", 0],
  ])("is fetched at %s, and the commit is returned", async (_, ref, index) => {
    const place = workspace();
    const revision = await fetchGit(
      { url: `file://${origin}`, ref },
      place,
      settings,
      never,
      "file",
    );
    expect(revision).toEqual({ type: "git", digest: commits[index] });
    expect(readFileSync(join(place.source, "main.tf"), "utf8")).toBe(`# ${["one", "two"][index]}`);
  });

  test("is fetched at a commit given by its hash", async () => {
    const [first = ""] = commits;
    const source = { url: `file://${origin}`, ref: first };
    expect(await fetchGit(source, workspace(), settings, never, "file")).toMatchObject({
      digest: first,
    });
  });

  test("runs no command of a .gitconfig in its home", async () => {
    const place = workspace();
    const pwned = join(root, "pwned");
    mkdirSync(join(place.home, ".config/git"), { recursive: true });
    writeFileSync(join(place.home, ".gitconfig"), `[core]\n\tfsmonitor = touch ${pwned}\n`);
    await fetchGit({ url: `file://${origin}` }, place, settings, never, "file");
    expect(existsSync(pwned)).toBe(false);
  });

  test("is not checked out if a few objects name ten million files", async () => {
    let entry = `100644 blob ${git("rev-parse", "HEAD:main.tf")}`;
    for (let depth = 0; depth < 7; depth++) {
      const input = Array.from({ length: 10 }, (_, name) => `${entry}\t${name}\n`).join("");
      entry = `040000 tree ${execFileSync("git", ["-C", origin, "mktree"], { input }).toString().trim()}`;
    }
    git("branch", "bomb", git("commit-tree", entry.slice(-40), "-m", "bomb"));
    const place = workspace();
    const source = { url: `file://${origin}`, ref: "bomb" };
    await expect(fetchGit(source, place, settings, never, "file")).rejects.toThrow(
      "source: the repository has more than 1000000 files",
    );
    expect(readdirSync(place.source)).toEqual([".git"]);
  });

  test("is not fetched at a ref that git would read as an option", async () => {
    const source = { url: `file://${origin}`, ref: "--upload-pack=touch x" };
    await expect(fetchGit(source, workspace(), settings, never, "file")).rejects.toThrow(
      /^source: the ref "--upload-pack=touch x" must be a branch, a tag or a commit/,
    );
  });

  test("that does not exist fails with the error of git", async () => {
    const source = { url: "file:///nonexistent/repository" };
    await expect(fetchGit(source, workspace(), settings, never, "file")).rejects.toThrow(
      /^source: git fetch failed: .*repository/,
    );
  });

  test("over ssh that cannot be reached fails with the cause, not with git's advice", async () => {
    const source = { url: "ssh://git@127.0.0.1:1/team/repository.git" };
    await expect(fetchGit(source, workspace(), settings, never)).rejects.toThrow(
      /^source: git fetch failed: .*(refused|cannot run ssh).* fatal: [^.]*\.?$/,
    );
  });

  test("on this machine, by a path or a remote helper, is refused", async () => {
    for (const url of [`file://${origin}`, origin, `ext::sh -c touch% ${root}/pwned`]) {
      const place = workspace();
      await expect(fetchGit({ url }, place, settings, never)).rejects.toThrow(
        /must begin with https:/,
      );
      expect(readdirSync(place.source)).toEqual([]);
    }
  });
});

const words = (text: string): string[] => text.trim().split(/\s+/);

describe("an address", () => {
  const protocols = ["https", "ssh"];
  test.each(
    words(`
      https://github.com/a/b.git https://git.example.com:8443/a/b ssh://git@host/a/b.git
      ssh://host:22/a git@github.com:a/b.git https://user@host/a
    `),
  )("%j is accepted", (url) => expect(isSafeUrl(url, protocols)).toBe(true));
  test.each([
    ...words(`
      -oProxyCommand=x http://host/a git://host/a file:///etc /etc ./a fd::17 https:// https:///a
      ssh://-oProxyCommand=id/a ssh://git@-oProxyCommand=id/a git@-oProxyCommand=id:a -x@host:a
      HTTPS::x host:a ftp://host/a git@host::a
    `),
    "",
    "--upload-pack=touch x",
    "ext::sh -c id",
    "https://host/a b",
    "https://host/\na",
    "https://host/a\0",
  ])("%j is refused", (url) => expect(isSafeUrl(url, protocols)).toBe(false));
});
