/** Private repositories over real TLS with git's own server: which requests get the token. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  gitAccessEnvironment,
  isBelow,
  readGitAccess,
} from "../../../../agent/job/source/git-access.ts";
import { fetchGit } from "../../../../agent/job/source/git.ts";
import { makeCertificate } from "../../../helpers/network/certificate.ts";
import { startGitHost, type GitHost } from "../../../helpers/agent/git-host.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";

const place = folderForFile();
const certificate = makeCertificate(place, "localhost");
const token = "planted-token-4711";
const header = `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
const never = new AbortController().signal;
let host: GitHost;
let other: GitHost;

beforeAll(async () => {
  [host, other] = [await startGitHost(certificate), await startGitHost(certificate)];
  for (const each of [host, other]) each.commit("team/app", { "main.tf": "# first" });
});
beforeEach(() => {
  for (const each of [host, other]) {
    each.requests.length = 0;
    each.redirect = undefined;
    each.isOld = false;
    each.password = undefined;
  }
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const workspace = () => newWorkspace(join(place, "work"));

const settings = (...lines: string[]) => ({
  path: process.env["PATH"] ?? "",
  network: { SSL_CERT_FILE: certificate.file },
  gitAccess: readGitAccess(lines.join("\n")),
  sourceBytes: 1024 ** 3,
});
const fetch = (url: string, using: ReturnType<typeof settings>, ref?: string, at = workspace()) =>
  fetchGit({ url, ref }, at, using, never);
const credentials = () => `https://x-access-token:${token}@${host.host}`;

describe("a private repository", () => {
  test("is fetched with the token of its host, which is in no file and no argument", async () => {
    host.password = `x-access-token:${token}`;
    const at = workspace();
    // Records its arguments and runs git.
    const bin = join(at.root, "bin");
    const recorded = join(at.root, "recorded");
    mkdirSync(bin);
    writeFileSync(
      join(bin, "git"),
      `#!/bin/sh\necho "$@" >> '${recorded}'\nPATH=\${PATH#*:} exec git "$@"\n`,
    );
    chmodSync(join(bin, "git"), 0o755);
    const using = settings(credentials());
    const path = `${bin}:${using.path}`;
    const url = `https://${host.host}/team/app`;
    const revision = await fetch(url, { ...using, path }, "main", at);
    expect(revision.digest).toBe(host.git("team/app", "rev-parse", "main"));
    expect(host.requests.at(-1)?.authorization).toBe(header);
    expect(readFileSync(recorded, "utf8")).toContain("fetch");
    const files = readdirSync(at.root, { recursive: true, encoding: "utf8" })
      .map((name) => join(at.root, name))
      .filter((file) => statSync(file).isFile());
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const text = readFileSync(file, "latin1");
      expect([file, text.includes(token) || text.includes(header.slice(6))]).toEqual([file, false]);
    }
  });

  test("fails without a token or with a wrong one, and the error has no token", async () => {
    host.password = `x-access-token:${token}`;
    const url = `https://${host.host}/team/app`;
    await expect(fetch(url, settings())).rejects.toThrow(/^source: git fetch failed: /);
    const wrong = settings(`https://x-access-token:wrong-token-0815@${host.host}`);
    const error = await fetch(url, wrong).catch(String);
    expect(error).toMatch(/git fetch failed/);
    expect(error).not.toContain("wrong-token");
  });

  test("outside the token's path is fetched without the token", async () => {
    const using = settings(`${credentials()}/elsewhere`);
    await fetch(`https://${host.host}/team/app`, using);
    expect(host.requests.map(({ authorization }) => authorization)).toEqual(
      host.requests.map(() => undefined),
    );
    await fetch(`https://${host.host}/team/app`, settings(`${credentials()}/team`));
    expect(host.requests.at(-1)?.authorization).toBe(header);
  });
});

test("a commit that no branch has any more is named, with what to do, if the server keeps it back", async () => {
  const commit = host.commit("team/moved", { "main.tf": "# first" });
  host.commit("team/moved", { "main.tf": "# second" });
  const url = `https://${host.host}/team/moved`;
  expect(await fetch(url, settings(), commit)).toMatchObject({ digest: commit });
  host.isOld = true;
  await expect(fetch(url, settings(), commit)).rejects.toThrow(
    `source: the git server does not give out the commit ${commit}, because no branch or tag points to it any more: make a new plan`,
  );
});

test("a redirect is not followed with a token, neither to the same host nor to another", async () => {
  for (const redirect of [`https://${other.host}`, `https://${host.host}/new`]) {
    host.redirect = redirect;
    host.requests.length = 0;
    await expect(fetch(`https://${host.host}/team/app`, settings(credentials()))).rejects.toThrow(
      /the repository has moved .*use its new address/,
    );
    expect(host.requests).toEqual([expect.objectContaining({ authorization: header })]);
    expect(other.requests).toEqual([]);
  }
});

test("a redirect is followed without a token", async () => {
  host.redirect = `https://${other.host}`;
  await fetch(`https://${host.host}/team/app`, settings());
  expect(other.requests.length).toBeGreaterThan(1);
});

test("another host gets its own token, or none", async () => {
  const using = settings(credentials(), `https://oauth2:second@${other.host}/`);
  await fetch(`https://${other.host}/team/app`, using);
  const second = `Basic ${Buffer.from("oauth2:second").toString("base64")}`;
  expect(other.requests.at(-1)?.authorization).toBe(second);
  await fetch(`https://${other.host}/team/app`, settings(credentials()));
  expect(other.requests.at(-1)?.authorization).toBeUndefined();
});

test("an address with a password is refused before any request", async () => {
  const address = `https://me:planted@${host.host}/team/app`;
  const error = await fetch(address, settings()).catch(String);
  expect(error).toMatch(/WINDLASS_GIT_CREDENTIALS/);
  expect(error).not.toContain("planted");
  expect(host.requests).toEqual([]);
});

test("submodules and hooks of a repository are ignored", async () => {
  const commit = host.commit("team/nested", {
    ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = https://${other.host}/team/app\n\tupdate = !touch ${place}/pwned\n`,
    "hooks/post-checkout": `#!/bin/sh\ntouch ${place}/pwned\n`,
  });
  host.git("team/nested", "update-index", "--add", "--cacheinfo", `160000,${commit},x`);
  host.git("team/nested", "commit", "--quiet", "-m", "a submodule");
  const at = workspace();
  await fetch(`https://${host.host}/team/nested`, settings(), "main", at);
  expect(readdirSync(join(at.source, "x"))).toEqual([]);
  expect(readdirSync(join(at.source, ".git"))).not.toContain("hooks");
  expect(other.requests).toEqual([]);
  expect(readdirSync(place)).not.toContain("pwned");
});

describe("WINDLASS_GIT_CREDENTIALS", () => {
  test("has one line per token, in the format of git's credential store", () => {
    expect(
      readGitAccess("# ours\nhttps://a:b%40c@git.example.com:8443/team\n\nhttps://u:t@host/"),
    ).toEqual([
      { address: "https://git.example.com:8443/team/", user: "a", token: "b@c" },
      { address: "https://host/", user: "u", token: "t" },
    ]);
  });
  test.each([
    "token-alone",
    "http://u:planted@host",
    "https://planted@host",
    "https://:planted@host",
    "https://u:planted@*",
    "https://u:planted@*.example.com/",
    "https://u:planted@host/?x",
    "ssh://u:planted@host",
    "https://u:planted@ho st",
  ])("is refused with the line number if a line is %j", (line) => {
    const read = () => readGitAccess(`https://u:t@host\n${line}`);
    expect(read).toThrow(/^line 2 must have the form/);
    expect(read).not.toThrow(/planted/);
  });
  test("gives no token to a repository of another address", () => {
    const all = readGitAccess("https://u:t@host.example.com");
    for (const url of [
      "https://example.com/a",
      "https://host.example.com.evil.test/a",
      "https://host.example.com:444/a",
      "git@host.example.com:a",
      "",
    ])
      expect([url, gitAccessEnvironment(all, url, {})]).toEqual([url, {}]);
    expect(gitAccessEnvironment(all, "https://host.example.com/a", {})).toHaveProperty(
      "GIT_CONFIG_COUNT",
      "2",
    );
  });
});

test.each([
  ["https://git.example/our-team/", "https://git.example/our-team/app", true],
  ["https://git.example/our-team/", "https://git.example/our-team/app.git", true],
  ["https://git.example/our-team/", "https://x@git.example/our-team", true],
  ["https://git.example/our-team/", "https://git.example/our-team-2/app", false],
  ["https://git.example/our-team/", "https://git.example/our-team/../other/app", false],
  ["https://git.example/our-team/", "https://git.example/other/app", false],
  ["https://git.example/our-team/", "https://git.example:8443/our-team/app", false],
  ["https://git.example/our-team/", "http://git.example/our-team/app", false],
  ["https://git.example/our-team/", "ssh://git.example/our-team/app", false],
  ["https://git.example/our-team/", "git@git.example:our-team/app", false],
  ["https://git.example/", "https://git.example/any/app", true],
])("a token for %s is used for %s: %s", (address, repository, expected) => {
  expect(isBelow(repository, address)).toBe(expected);
});
