/** Submodules and Git LFS over real TLS with real git. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readGitAccess } from "../../agent/job/source/git-access.ts";
import { fetchGit } from "../../agent/job/source/git.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import { startGitHost, type GitHost } from "../helpers/agent/git-host.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { newWorkspace } from "../helpers/machine/workspaces.ts";

const place = folderForFile();
const certificate = makeCertificate(place);
const never = new AbortController().signal;
let host: GitHost;
let count = 0;
beforeAll(async () => {
  host = await startGitHost(certificate);
});
beforeEach(() => {
  host.requests.length = 0;
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
});

const workspace = () => newWorkspace(join(place, "work"));
const settings = () => ({
  path: process.env["PATH"] ?? "",
  network: { SSL_CERT_FILE: certificate.file },
  gitAccess: readGitAccess(`https://x:token@${host.host}/team`),
  sourceBytes: 1024 ** 3,
});
const fetch = (name: string, submodules: boolean, at = workspace(), using = settings()) =>
  fetchGit({ url: `https://${host.host}/${name}`, submodules }, at, using, never);

/** Makes a repository with a submodule at `path`. */
function nest(name: string, url: string, commit: string, path = "inner", more = ""): string {
  const setting = `[submodule "x"]\n\tpath = ${path}\n\turl = ${url}\n${more}`;
  host.commit(name, { ".gitmodules": setting, "main.tf": `# ${name}` });
  host.git(name, "update-index", "--add", "--cacheinfo", `160000,${commit},${path}`);
  host.git(name, "commit", "--quiet", "-m", "a submodule");
  return host.git(name, "rev-parse", "HEAD");
}

describe("submodules", () => {
  test("are fetched at the recorded commit, also nested ones, with the token of each address", async () => {
    const first = host.commit("guests/leaf", { leaf: "first" });
    host.commit("guests/leaf", { leaf: "second" });
    const middle = nest("team/middle", "../guests/leaf", first);
    // Relative to its own address, not to that of the outer repository.
    host.git(
      "team/middle",
      "config",
      "--file",
      ".gitmodules",
      "submodule.x.url",
      "../../guests/leaf",
    );
    host.git("team/middle", "commit", "--quiet", "-m", "its address", ".gitmodules");
    const real = host.git("team/middle", "rev-parse", "HEAD");
    expect(real).not.toBe(middle);
    nest("team/outer", "../middle", real, "a/b", `\tupdate = !touch ${place}/pwned\n`);
    const at = workspace();
    await fetch("team/outer", true, at);
    expect(readFileSync(join(at.source, "a/b/inner/leaf"), "utf8")).toBe("first");
    const authorized = (path: string) =>
      host.requests.filter((each) => each.path.startsWith(path)).map((each) => each.authorization);
    const header = `Basic ${Buffer.from("x:token").toString("base64")}`;
    expect(new Set(authorized("/team/"))).toEqual(new Set([header]));
    expect(new Set(authorized("/guests/"))).toEqual(new Set([undefined]));
    expect(readdirSync(place)).not.toContain("pwned");
  });

  test.each([
    ["a local directory", "/etc", /must begin with https:/],
    ["a file address", "file:///etc", /must begin with https:/],
    ["a program", "ext::touch pwned", /must begin with https:/],
    ["plain http", "http://127.0.0.1/x", /must begin with https:/],
    ["an option", "--upload-pack=touch", /must begin with https:/],
    ["an address with a password", "https://a:b@127.0.0.1/x", /contains a password/],
    ["a path above the root of the host", "../../../../x", /leads out of its host/],
  ])("at %s are refused", async (_, url, message) => {
    const commit = host.commit("team/leaf", { leaf: "" });
    nest(`team/hostile-${++count}`, url, commit);
    await expect(fetch(`team/hostile-${count}`, true)).rejects.toThrow(message);
  });

  test("nested more than five deep are refused", async () => {
    // Each commit has the commit before it as a submodule.
    let commit = host.commit("team/deep", { leaf: "" });
    for (let depth = 0; depth < 6; depth++) commit = nest("team/deep", "../deep", commit);
    await expect(fetch("team/deep", true)).rejects.toThrow(/nested more than 5 deep/);
  });
});

describe("the size of a source on the disk", () => {
  const small = () => ({ ...settings(), sourceBytes: 1024 ** 2 });
  const refused =
    /source: the fetched files take \d+ MiB on the disk, more than the limit of 1 MiB: .*WINDLASS_SOURCE_MIB/;

  test("is bounded for a repository", async () => {
    host.commit("team/heavy", { "a.bin": randomBytes(1024 ** 2) });
    await expect(fetch("team/heavy", false, workspace(), small())).rejects.toThrow(refused);
    await expect(fetch("team/heavy", false)).resolves.toBeDefined();
  });

  test("is bounded for a repository and its submodules together", async () => {
    const heavy = host.commit("team/part", { "a.bin": randomBytes(1024 ** 2) });
    nest("team/light", "../part", heavy);
    await expect(fetch("team/light", false, workspace(), small())).resolves.toBeDefined();
    await expect(fetch("team/light", true, workspace(), small())).rejects.toThrow(refused);
  });
});

const hasLfs = (() => {
  try {
    execFileSync("git", ["lfs", "version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

describe("files in Git LFS", () => {
  const attributes = { ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n" };

  test("are fetched, and a .lfsconfig cannot change their address", async ({ skip }) => {
    skip(!hasLfs, "not installed: git-lfs");
    const pointer = host.keep("the real content");
    host.commit("team/large", {
      ...attributes,
      "a.bin": pointer,
      "pointer.txt": pointer,
      ".lfsconfig": "[lfs]\n\turl = https://127.0.0.1:9/elsewhere\n",
    });
    const at = workspace();
    await fetch("team/large", false, at);
    expect(readFileSync(join(at.source, "a.bin"), "utf8")).toBe("the real content");
    // A file that only looks like a pointer is kept unchanged.
    expect(readFileSync(join(at.source, "pointer.txt"), "utf8")).toBe(pointer);
  });

  test("that the host does not have fail the checkout", async ({ skip }) => {
    skip(!hasLfs, "not installed: git-lfs");
    const missing = host.keep("kept").replace(/oid sha256:..../, "oid sha256:0000");
    host.commit("team/missing", { ...attributes, "a.bin": missing });
    await expect(fetch("team/missing", false)).rejects.toThrow(
      /source: git checkout failed: .*a\.bin/,
    );
  });

  test("fail without git-lfs, instead of leaving pointers", async () => {
    host.commit("team/absent", { ...attributes, "a.bin": host.keep("content") });
    const bin = join(place, "no-lfs");
    mkdirSync(bin);
    for (const program of ["git", "du"]) {
      const found = execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" });
      symlinkSync(found.trim(), join(bin, program));
    }
    const using = { ...settings(), path: bin };
    await expect(fetch("team/absent", false, workspace(), using)).rejects.toThrow(
      /keeps 1 files in Git LFS \(a\.bin\), and git-lfs is not installed on the runner/,
    );
  });

  test("above the limit are refused before any of them is fetched", async () => {
    const huge = host.keep("x").replace(/size \d+/, "size 99999999999");
    host.commit("team/huge", { ...attributes, "a.bin": huge });
    await expect(fetch("team/huge", false)).rejects.toThrow(
      /in total 99999999999 bytes, more than WINDLASS_SOURCE_MIB of the runner allows \(1024 MiB\)/,
    );
  });
});
