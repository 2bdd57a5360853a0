/** Pull requests over real TLS with git's own server: what is merged, and what of it runs. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fetchGit } from "../../../../agent/job/source/git.ts";
import { mebibyte } from "../../../../common/units.ts";
import type { SourceMerge } from "../../../../protocol/source-merge.ts";
import { startGitHost, type GitHost } from "../../../helpers/agent/git-host.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";
import { makeCertificate } from "../../../helpers/network/certificate.ts";

const place = folderForFile();
const certificate = makeCertificate(place, "localhost");
const never = new AbortController().signal;
let host: GitHost;
beforeAll(async () => {
  host = await startGitHost(certificate);
});
afterAll(() => host[Symbol.asyncDispose]());

const workspace = () => newWorkspace(join(place, "work"));

async function fetchMerged(
  name: string,
  head: string,
  merge: Partial<SourceMerge> = {},
  { at = workspace(), sourceBytes = 1024 ** 3 } = {},
) {
  const settings = {
    path: process.env["PATH"] ?? "",
    network: { SSL_CERT_FILE: certificate.file },
    gitAccess: [],
    sourceBytes,
  };
  const wish = {
    url: `https://${host.host}/${name}`,
    ref: head,
    merge: { base_branch: "main", base_commit: null, ...merge },
  };
  const fetched = await fetchGit(wish, at, settings, never);
  return { ...fetched, files: readdirSync(at.source).filter((file) => file !== ".git") };
}

/** Makes a repository whose branches `main` and `topic` have these commits after a common one. */
function diverged(
  name: string,
  main: Readonly<Record<string, string>>,
  topic: Readonly<Record<string, string>>,
  common: Readonly<Record<string, string | Buffer>> = { "main.tf": "# common\n" },
) {
  host.commit(name, common);
  host.git(name, "checkout", "--quiet", "-b", "topic");
  const head = host.commit(name, topic);
  host.git(name, "checkout", "--quiet", "main");
  return { head, base: host.commit(name, main) };
}

/** Appends so many empty commits to a branch. */
function lengthen(name: string, branch: string, count: number): string {
  const from = host.git(name, "rev-parse", branch);
  const file = join(place, "stream");
  const commits = Array.from({ length: count }, (_, index) => {
    const parent = index === 0 ? `from ${from}\n` : "";
    return `commit refs/heads/${branch}\ncommitter x <x@x> 0 +0000\ndata 0\n${parent}`;
  });
  writeFileSync(file, commits.join("\n"));
  host.git(name, "-c", `alias.import=!git fast-import --quiet < '${file}'`, "import");
  return host.git(name, "rev-parse", branch);
}

describe("a pull request", () => {
  test("is merged into the tip of its base, as git merges it", async () => {
    const { head, base } = diverged("clean", { "b.tf": "# b\n" }, { "t.tf": "# t\n" });
    const at = workspace();
    expect(await fetchMerged("clean", head, {}, { at })).toEqual({
      type: "git",
      digest: head,
      merged: { base_commit: base, head_commit: head },
      files: ["b.tf", "main.tf", "t.tf"],
    });
    host.git("clean", "merge", "--quiet", "--no-edit", "topic");
    const tree = host.git("clean", "rev-parse", "HEAD^{tree}");
    expect(host.git("clean", "-C", at.source, "rev-parse", "HEAD^{tree}")).toBe(tree);
    expect(readFileSync(join(at.source, ".git/config"), "utf8")).not.toContain(host.host);
  });

  test("is merged into the commit that the claim names, also if the base has moved", async () => {
    const { head, base } = diverged("moved", { "b.tf": "" }, { "t.tf": "" });
    host.commit("moved", { "later.tf": "" });
    const { merged, files } = await fetchMerged("moved", head, { base_commit: base });
    expect(merged).toEqual({ base_commit: base, head_commit: head });
    expect(files).toEqual(["b.tf", "main.tf", "t.tf"]);
  });

  test("that has all commits of its base is planned unchanged", async () => {
    host.commit("current", { "main.tf": "" });
    const base = host.git("current", "rev-parse", "main");
    host.git("current", "checkout", "--quiet", "-b", "topic");
    const head = host.commit("current", { "t.tf": "" });
    const at = workspace();
    const { merged } = await fetchMerged("current", head, {}, { at });
    expect(merged).toEqual({ base_commit: base, head_commit: head, is_current: true });
    expect(host.git("current", "-C", at.source, "rev-parse", "HEAD")).toBe(head);
  });

  test("that conflicts fails with the first 20 paths", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `f${10 + index}.tf`);
    const all = (text: string) => Object.fromEntries(names.map((name) => [name, text]));
    const { head } = diverged("conflict", all("main\n"), all("topic\n"), all("common\n"));
    const error = await fetchMerged("conflict", head).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      message: `source: the pull request conflicts with main in ${names.slice(0, 20).join(", ")} and 10 more: merge main into it, or rebase it`,
      failure: { kind: "merge_conflict" },
    });
  });

  test("is fetched by names from a host that does not serve commits", async () => {
    const { head, base } = diverged("old", { "b.tf": "" }, { "t.tf": "" });
    const refs = { base_commit: base, head_ref: "refs/pull/12/head" };
    host.git("old", "update-ref", refs.head_ref, head);
    host.git("old", "branch", "--quiet", "-D", "topic");
    const tip = host.commit("old", { "later.tf": "" });
    host.isOld = true;
    try {
      const { merged, files } = await fetchMerged("old", head, refs);
      expect(merged).toEqual({ base_commit: tip, head_commit: head });
      expect(files).toEqual(["b.tf", "later.tf", "main.tf", "t.tf"]);
      host.git("old", "update-ref", refs.head_ref, tip);
      await expect(fetchMerged("old", head, refs)).rejects.toThrow(
        `source: refs/pull/12/head is ${tip} and no longer ${head}: plan the new head`,
      );
    } finally {
      host.isOld = false;
    }
  });

  test("finds a common commit that is 100 commits away", async () => {
    const { head } = diverged("deep", { "b.tf": "" }, { "t.tf": "" });
    const base = lengthen("deep", "main", 100);
    const { merged, files } = await fetchMerged("deep", head);
    expect(merged).toEqual({ base_commit: base, head_commit: head });
    expect(files).toEqual(["b.tf", "main.tf", "t.tf"]);
  });

  test("keeps a revert also if an older common commit is nearer", async () => {
    host.commit("crossed", { "main.tf": "one" });
    host.git("crossed", "branch", "--quiet", "old");
    host.commit("crossed", { "main.tf": "two" });
    host.git("crossed", "checkout", "--quiet", "-b", "topic");
    const head = host.commit("crossed", { "main.tf": "one" });
    lengthen("crossed", "main", 40);
    host.git("crossed", "checkout", "--quiet", "old");
    host.commit("crossed", { "old.tf": "" });
    host.git("crossed", "checkout", "--quiet", "main");
    host.git("crossed", "merge", "--quiet", "--no-edit", "old");
    const at = workspace();
    const { merged } = await fetchMerged("crossed", head, {}, { at });
    expect(merged).not.toHaveProperty("is_head_only");
    expect(readFileSync(join(at.source, "main.tf"), "utf8")).toBe("one");
  });

  test("is planned alone if the common commit is past the limit, or there is none", async () => {
    const { head } = diverged("far", { "b.tf": "" }, { "t.tf": "" });
    const base = lengthen("far", "main", 4200);
    const alone = { head_commit: head, is_head_only: true };
    const far = await fetchMerged("far", head);
    expect(far.merged).toEqual({ ...alone, base_commit: base });
    expect(far.files).toEqual(["main.tf", "t.tf"]);
    host.git("far", "checkout", "--quiet", "--orphan", "other");
    const other = host.commit("far", { "b.tf": "other" });
    const { merged } = await fetchMerged("far", head, { base_branch: "other" });
    expect(merged).toEqual({ ...alone, base_commit: other });
  });

  test("is planned alone if the history is too large", async () => {
    host.commit("large", { "main.tf": "", large: randomBytes(8 * mebibyte) });
    host.git("large", "rm", "--quiet", "large");
    const { head, base } = diverged("large", { "b.tf": "" }, { "t.tf": "" }, {});
    const merge = { base_commit: base };
    const fetched = await fetchMerged("large", head, merge, { sourceBytes: 4 * mebibyte });
    expect(fetched.merged).toEqual({ base_commit: base, head_commit: head, is_head_only: true });
    expect(fetched.files).toEqual(["main.tf", "t.tf"]);
  });

  test("runs nothing that it or the home directory names", async () => {
    const canary = join(place, "pwned");
    const run = `touch ${canary}`;
    const hostile = {
      ".gitattributes": "* merge=evil filter=evil diff=evil text\n",
      ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ext::${run}\n\tupdate = !${run}\n`,
      ".git-hooks/post-merge": `#!/bin/sh\n${run}\n`,
      "hooks/post-checkout": `#!/bin/sh\n${run}\n`,
    };
    const lines = (first: string, last: string) => ({
      "main.tf": [first, "1", "2", "3", last, ""].join("\n"),
    });
    const common = { ...hostile, ...lines("a", "z") };
    const { head } = diverged("hostile", lines("b", "z"), lines("a", "y"), common);
    const at = workspace();
    const drivers = ["driver = ", "command = ", "smudge = ", "textconv = "].map(
      (key) => `${key}${run}\n`,
    );
    const sections = ["merge", "filter", "diff"].map(
      (name) => `[${name} "evil"]\n${drivers.join("")}`,
    );
    mkdirSync(join(at.home, ".config/git"), { recursive: true });
    for (const file of [".gitconfig", ".config/git/config"])
      writeFileSync(join(at.home, file), `${sections.join("")}[core]\n\tfsmonitor = ${run}\n`);
    await fetchMerged("hostile", head, {}, { at });
    expect(readFileSync(join(at.source, "main.tf"), "utf8")).toBe("b\n1\n2\n3\ny\n");
    expect(existsSync(canary)).toBe(false);
    expect(readdirSync(join(at.source, ".git"))).not.toContain("hooks");
  });

  test("is refused with names that git would read as options or refspecs", async () => {
    const { head } = diverged("names", { "b.tf": "" }, { "t.tf": "" });
    for (const merge of [{ base_branch: "--upload-pack=x" }, { head_ref: "+refs/heads/a:refs/b" }])
      await expect(fetchMerged("names", head, merge)).rejects.toThrow(/^source: the ref ".*" must/);
  });
});
