/**
 * Hostile addresses and refs with the real git: nothing of them is executed and nothing is written outside of the source. First as a job
 * gives them, then with the judges left out, so that what git itself is told holds too.
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
import { afterAll, beforeAll, expect, test } from "vitest";
import { fetchCommit, fetchGit } from "../../../../agent/job/source/git.ts";
import { workspaceOf, type Workspace } from "../../../../agent/job/workspace.ts";
import { scratch } from "../../../helpers/agent-process.ts";
import { hostileRefs, hostileUrls } from "../../../helpers/hostile-git.ts";

const place = scratch();
afterAll(() => place[Symbol.dispose]());
const canary = join(place.path, "canary");
const origin = join(place.path, "origin");
const bin = join(place.path, "bin");
const calls = join(place.path, "ssh-calls");
const never = new AbortController().signal;
const urls = hostileUrls(canary);
const refs = hostileRefs(canary);

/** Nothing of it leaves this machine: https ends at a closed port, ssh at a program that notes what it was told. */
const settings = {
  path: `${bin}:${process.env["PATH"]}`,
  network: { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9" },
  gitAccess: [],
  sourceBytes: 1024 ** 3,
};
/** The whole number takes a minute of processes. */
const some = <T>(all: readonly T[]): readonly T[] =>
  process.env["WINDLASS_PROVE"] === "1" ? all : all.filter((_, index) => index % 5 === 0);

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

let count = 0;
function workspace(): Workspace {
  const made = workspaceOf(join(place.path, `work-${++count}`), { job: { id: "j" } } as never);
  for (const folder of [made.source, made.home, made.temporary])
    mkdirSync(folder, { recursive: true });
  return made;
}

/** What is there but for the sources: the same names before and after. */
const outside = (): string[] =>
  readdirSync(place.path, { recursive: true, encoding: "utf8" })
    .filter(
      (name) =>
        !/\/source(\/|$)|^work-\d+(\/workspaces(\/j(\/(home|tmp(\/no-password)?))?)?)?$/.test(name),
    )
    .filter((name) => name !== "ssh-calls")
    .toSorted();

const settle = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => "fetched",
    (error: unknown) => String(error),
  );

test("there are five hundred of them, no two alike", () => {
  expect(new Set(urls).size).toBeGreaterThanOrEqual(250);
  expect(new Set(refs).size).toBeGreaterThanOrEqual(250);
});

test("as a job gives them, nothing is executed and nothing is written outside", async () => {
  const before = outside();
  const reached: string[] = [];
  for (const url of urls) {
    const said = await settle(fetchGit({ url }, workspace(), settings, never));
    expect([url, said]).toEqual([url, expect.stringMatching(/^StepFailed: source: /)]);
    if (said.includes("git fetch failed")) reached.push(url);
  }
  for (const ref of refs) {
    const wish = { url: `file://${origin}`, ref };
    const said = await settle(fetchGit(wish, workspace(), settings, never, "file"));
    expect([ref, said]).toEqual([ref, expect.stringMatching(/^StepFailed: source: /)]);
  }
  expect(existsSync(canary)).toBe(false);
  expect(outside()).toEqual(before);
  // Of what git was asked for at all, each is a path on a host that it names: never an option, never a command.
  for (const url of reached)
    expect(url).toMatch(/^(https|ssh):\/\/[a-z$(`;]?[^/]*\/|^git@host\.invalid:/);
  expect(sshCalls().filter((call) => !sshCall.test(call))).toEqual([]);
});

test.each([
  ["addresses", urls.length],
  ["refs", refs.length],
])("without the judges git executes nothing of the %s either", async (what) => {
  const before = outside();
  const [fetched, options]: [string[], string[]] = [[], []];
  const wishes =
    what === "refs"
      ? some(refs).map((ref) => ({ url: `file://${origin}`, ref }))
      : some(urls).map((url) => ({ url, ref: "main" }));
  for (const wish of wishes) {
    // A NUL cannot be an argument of any program.
    if (JSON.stringify(wish).includes("\\u0000")) continue;
    const protocols = what === "refs" ? "file" : "https:ssh";
    const said = await settle(fetchCommit(wish, workspace(), settings, never, protocols));
    if (said === "fetched") fetched.push(wish.ref);
    if (/usage: git|unknown option/i.test(said)) options.push(JSON.stringify(wish));
  }
  expect(existsSync(canary)).toBe(false);
  expect(outside()).toEqual(before);
  expect(options).toEqual([]);
  if (what === "addresses") expect(fetched).toEqual([]);
  expect(sshCalls().filter((call) => !sshCall.test(call))).toEqual([]);
});

/** Our options, git's own, then the host, which is none of ssh's options. */
const sshCall =
  /^-oBatchMode=yes -oStrictHostKeyChecking=yes -oForwardAgent=no (-G |-o SendEnv=GIT_PROTOCOL )*(-p \S+ )?([^-\s]\S*)? /;
const sshCalls = (): string[] =>
  existsSync(calls)
    ? readFileSync(calls, "utf8")
        .split("\n")
        .filter((line) => line.startsWith("-"))
    : [];
