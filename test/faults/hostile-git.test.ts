/**
 * Hostile addresses and refs with the real git: none is executed, and nothing is written outside
 * the source. First with our validation, then without it, which shows that the options for git
 * protect by themselves.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { fetchCommit, fetchGit } from "../../agent/job/source/git.ts";
import { hostileRefs, hostileUrls } from "./hostile-git.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { newWorkspace } from "../helpers/machine/workspaces.ts";
import { proving } from "../helpers/project/proving.ts";

const place = folderForFile();
const canary = join(place, "canary");
const origin = join(place, "origin");
const bin = join(place, "bin");
const calls = join(place, "ssh-calls");
const never = new AbortController().signal;
const urls = hostileUrls(canary);
const refs = hostileRefs(canary);

/** No request leaves this machine: https ends at a closed port, ssh at a recording script. */
const settings = {
  path: `${bin}:${process.env["PATH"]}`,
  network: { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9" },
  gitAccess: [],
  sourceBytes: 1024 ** 3,
};
/** All of them take a minute, so every fifth runs unless WINDLASS_PROVE=1 is set. */
const some = <T>(all: readonly T[]): readonly T[] =>
  proving ? all : all.filter((_, index) => index % 5 === 0);

beforeAll(() => {
  mkdirSync(bin);
  writeFileSync(join(bin, "ssh"), `#!/bin/sh\nprintf '%s\\n' "$*" >> '${calls}'\nexit 255\n`);
  chmodSync(join(bin, "ssh"), 0o755);
  mkdirSync(origin);
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", origin, "-c", "user.name=x", "-c", "user.email=x@x", ...args]);
  git("init", "--quiet", "--initial-branch=main");
  git("commit", "--quiet", "--allow-empty", "-m", "x");
});

const workspace = () => newWorkspace(join(place, "work"));

/** The names of all files but those of the sources. */
const outside = (): string[] =>
  readdirSync(place, { recursive: true, encoding: "utf8" })
    .filter(
      (name) =>
        !/\/source(\/|$)|^work(\/workspaces(\/[\w-]+(\/(home|artifact|tmp(\/no-password)?))?)?)?$/.test(
          name,
        ),
    )
    .filter((name) => name !== "ssh-calls")
    .toSorted();

const settle = (fetching: Promise<unknown>): Promise<string> =>
  fetching.then(
    () => "fetched",
    (error: unknown) => String(error),
  );

test("the lists have at least 250 distinct addresses and 250 distinct refs", () => {
  expect(new Set(urls).size).toBeGreaterThanOrEqual(250);
  expect(new Set(refs).size).toBeGreaterThanOrEqual(250);
});

test("with validation, none is executed and nothing is written outside", async () => {
  const before = outside();
  const reached: string[] = [];
  for (const url of urls) {
    const result = await settle(fetchGit({ url }, workspace(), settings, never));
    expect([url, result]).toEqual([url, expect.stringMatching(/^StepFailedError: source: /)]);
    if (result.includes("git fetch failed")) reached.push(url);
  }
  for (const ref of refs) {
    const source = { url: `file://${origin}`, ref };
    const result = await settle(fetchGit(source, workspace(), settings, never, "file"));
    expect([ref, result]).toEqual([ref, expect.stringMatching(/^StepFailedError: source: /)]);
  }
  expect(existsSync(canary)).toBe(false);
  expect(outside()).toEqual(before);
  // Each address that reached git is a path on a host, never an option or a command.
  for (const url of reached)
    expect(url).toMatch(/^(https|ssh):\/\/[a-z$(`;]?[^/]*\/|^git@host\.invalid:/);
  expect(sshCalls().filter((call) => !sshCall.test(call))).toEqual([]);
});

test.each([
  ["addresses", urls.length],
  ["refs", refs.length],
])("without validation, git executes none of the %s", async (what) => {
  const before = outside();
  const [fetched, options]: [string[], string[]] = [[], []];
  const sources =
    what === "refs"
      ? some(refs).map((ref) => ({ url: `file://${origin}`, ref }))
      : some(urls).map((url) => ({ url, ref: "main" }));
  for (const source of sources) {
    // A NUL cannot be an argument of any program.
    if (JSON.stringify(source).includes("\\u0000")) continue;
    const protocols = what === "refs" ? "file" : "https:ssh";
    const result = await settle(fetchCommit(source, workspace(), settings, never, protocols));
    if (result === "fetched") fetched.push(source.ref);
    if (/usage: git|unknown option/i.test(result)) options.push(JSON.stringify(source));
  }
  expect(existsSync(canary)).toBe(false);
  expect(outside()).toEqual(before);
  expect(options).toEqual([]);
  if (what === "addresses") expect(fetched).toEqual([]);
  expect(sshCalls().filter((call) => !sshCall.test(call))).toEqual([]);
});

/** Our options, git's options, then the host, which must not be an option. */
const sshCall =
  /^-oBatchMode=yes -oStrictHostKeyChecking=yes -oForwardAgent=no (-G |-o SendEnv=GIT_PROTOCOL )*(-p \S+ )?([^-\s]\S*)? /;
const sshCalls = (): string[] =>
  existsSync(calls)
    ? readFileSync(calls, "utf8")
        .split("\n")
        .filter((line) => line.startsWith("-"))
    : [];
