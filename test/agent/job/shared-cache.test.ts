/** What jobs share, within its limits: what goes first, and what never goes. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readLock, withHashes } from "../../../agent/job/providers/lock-file.ts";
import {
  isUnchanged,
  packageHash,
  packagesIn,
  storedPackages,
  storePackage,
} from "../../../agent/job/providers/store.ts";
import { holdEngine, keepWithin, removePartials } from "../../../agent/job/shared-cache.ts";
import { workspaceAt } from "../../../agent/job/workspace.ts";

let workDir: string;
beforeEach(() => {
  workDir = mkdtempSync(join(tmpdir(), "shared-"));
});
afterEach(() => rmSync(workDir, { recursive: true }));

const store = (): string => join(workDir, "providers");
const day = 86_400_000;
const megabyte = 1024 * 1024;

function used(path: string, daysAgo: number): void {
  const time = new Date(Date.now() - daysAgo * day);
  utimesSync(path, time, time);
}
function engine(version: string, daysAgo: number): string {
  const path = join(workDir, "engines", "terraform", version, "terraform");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.alloc(megabyte));
  used(dirname(path), daysAgo);
  return path;
}
/** A package as `init` has installed it. */
function installed(type: string, content = "x"): ReturnType<typeof packagesIn>[number] {
  const folder = join(workDir, "installed");
  const path = join(folder, "registry.example.com", "team", type, "1.0.0", "linux_amd64");
  mkdirSync(join(path, "docs"), { recursive: true });
  writeFileSync(join(path, `terraform-provider-${type}`), content, { mode: 0o755 });
  writeFileSync(join(path, "docs", "README"), "read");
  const found = packagesIn(folder).find((each) => each.path === path);
  if (!found) throw new Error("not found");
  return found;
}
async function keptPackage(type: string, daysAgo: number): Promise<string> {
  const found = installed(type, "x".repeat(megabyte));
  const hashes = [await packageHash(found.path), "zh:00"];
  await storePackage(store(), found, { hashes, isComplete: true }, () => true);
  const path = join(store(), found.address, "1.0.0", "linux_amd64");
  used(path, daysAgo);
  return path;
}
const workspace = (id: string) => workspaceAt(join(workDir, "workspaces", id));

describe("over the limit of size", () => {
  test("what was not used longest goes first, engines and packages alike, until it fits", async () => {
    const [old, newer] = [engine("1.9.0", 5), engine("1.11.0", 1)];
    const [older, fresh] = [await keptPackage("older", 6), await keptPackage("fresh", 0)];
    expect(keepWithin(workDir, { bytes: 5 * megabyte, days: 90 })).toEqual([]);
    expect(keepWithin(workDir, { bytes: 2.5 * megabyte, days: 90 })).toEqual([older, old]);
    expect([old, newer, older, fresh].map((path) => existsSync(path))).toEqual([
      false,
      true,
      false,
      true,
    ]);
    // With everything that belonged to them.
    expect(readdirSync(join(workDir, "engines", "terraform"))).toEqual(["1.11.0"]);
    expect(readdirSync(join(store(), "registry.example.com", "team"))).toEqual(["fresh"]);
  });

  test("what a job uses stays, however old it is and however full the cache", async () => {
    const path = engine("1.9.0", 500);
    const kept = await keptPackage("used", 500);
    expect(holdEngine(workDir, workspace("job"), path)).toBe(true);
    used(dirname(path), 500);
    const link = join(
      workspace("job").shared,
      "providers/registry.example.com/team/used/1.0.0/linux_amd64",
    );
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(kept, link);
    expect(keepWithin(workDir, { bytes: 0, days: 1 })).toEqual([]);
    rmSync(workspace("job").root, { recursive: true });
    expect(keepWithin(workDir, { bytes: 0, days: 1 }).toSorted()).toEqual([path, kept].toSorted());
  });
});

test("what was not used for too long goes, and use counts", () => {
  const [unused, inUse] = [engine("1.9.0", 91), engine("1.10.0", 91)];
  holdEngine(workDir, workspace("done"), inUse);
  rmSync(workspace("done").root, { recursive: true });
  expect(keepWithin(workDir, { bytes: 1e12, days: 90 })).toEqual([unused]);
});

test("an engine that was removed meanwhile is looked for again, and one that is not the cache's is left alone", () => {
  const path = engine("1.9.0", 1);
  keepWithin(workDir, { bytes: 0, days: 1 });
  expect(holdEngine(workDir, workspace("late"), path)).toBe(false);
  expect(holdEngine(workDir, workspace("late"), "/usr/bin/terraform")).toBe(true);
});

test("an empty work directory has nothing to remove", () => {
  expect(keepWithin(join(workDir, "none"), { bytes: 0, days: 0 })).toEqual([]);
  removePartials(join(workDir, "none"));
});

describe("a package is not kept", () => {
  const lying = { hashes: ["h1:something else"], isComplete: true };
  test("that is not what the lock file says, and nothing of it stays", async () => {
    await expect(storePackage(store(), installed("thing"), lying, () => true)).rejects.toThrow(
      /is not what the lock file names/,
    );
    expect(storedPackages(store())).toEqual([]);
    expect(readdirSync(store()).filter((name) => name.startsWith("."))).toEqual([]);
  });
  test("in which there is a link", async () => {
    const found = installed("thing");
    symlinkSync("/etc/passwd", join(found.path, "link"));
    await expect(storePackage(store(), found, lying, () => true)).rejects.toThrow(
      /is not a plain file/,
    );
  });
  test("for which there is no room", async () => {
    await storePackage(store(), installed("thing"), lying, () => false);
    expect(existsSync(store())).toBe(false);
  });
  test("whose name is no provider's", () => {
    for (const name of ["..", ".partial-x", "a b", "-x", "\u00e9"])
      mkdirSync(join(workDir, "odd", name, "team", "thing", "1.0.0", "linux_amd64"), {
        recursive: true,
      });
    symlinkSync(join(workDir, "odd"), join(workDir, "odd", "link.example"));
    expect(packagesIn(join(workDir, "odd"))).toEqual([]);
  });
  test("that a killed agent had begun with", () => {
    mkdirSync(join(store(), ".partial-abc", "docs"), { recursive: true });
    removePartials(workDir);
    expect(readdirSync(store())).toEqual([]);
  });
});

test("what is kept once never changes, whatever comes under its name", async () => {
  const path = await keptPackage("thing", 0);
  const other = installed("thing", "other");
  chmodSync(other.path, 0o755);
  const hashes = [await packageHash(other.path)];
  const before = await packageHash(path);
  await storePackage(store(), other, { hashes, isComplete: true }, () => true);
  expect(await packageHash(path)).toBe(before);
});

test("at level process only what this agent has stored is used, and only while its hash is the same", async () => {
  const path = await keptPackage("thing", 0);
  const [kept] = storedPackages(store(), "process");
  if (!kept) throw new Error("nothing is stored");
  expect(await isUnchanged(kept, "process")).toBe(true);
  writeFileSync(join(path, "terraform-provider-thing"), "planted");
  writeFileSync(`${path}.json`, JSON.stringify({ ...kept.record, h1: await packageHash(path) }));
  expect(await isUnchanged(kept, "process")).toBe(false);
  expect(storedPackages(store(), "process")).toEqual([]);
  expect(existsSync(path)).toBe(false);
});

test("at level process what another process has put into the store is replaced", async () => {
  const found = installed("stranger");
  const path = join(store(), found.address, "1.0.0", "linux_amd64");
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "terraform-provider-stranger"), "planted");
  const h1 = await packageHash(path);
  writeFileSync(`${path}.json`, JSON.stringify({ h1, hashes: [h1], bytes: 7 }));
  expect(storedPackages(store(), "process")).toEqual([]);
  const hashes = [await packageHash(found.path)];
  await storePackage(store(), found, { hashes, isComplete: true, level: "process" }, () => true);
  expect(await packageHash(path)).toBe(hashes[0]);
});

describe("a lock file", () => {
  const text = `# This file is maintained automatically by "terraform init".

provider "registry.example.com/team/a" {
  version     = "1.2.3"
  constraints = "~> 1.2"
  hashes = [
    "h1:abc/+=",
    "zh:00",
  ]
}

provider "registry.example.com/team/b" {
  version = "2.0.0"
  hashes = [
    "zh:11",
  ]
}
`;
  test("is read", () => {
    expect(readLock(text)).toEqual([
      { address: "registry.example.com/team/a", version: "1.2.3", hashes: ["h1:abc/+=", "zh:00"] },
      { address: "registry.example.com/team/b", version: "2.0.0", hashes: ["zh:11"] },
    ]);
    expect(readLock("provider {")).toEqual([]);
    expect(readLock("")).toEqual([]);
  });
  test("gets other hashes where they belong, as terraform writes them, and stays as it is elsewhere", () => {
    const change = (address: string, ...hashes: string[]) =>
      withHashes(text, new Map([[address, hashes]]));
    const changed = change("registry.example.com/team/b", "zh:11", "h1:$&", "zh:11");
    expect(changed).toBe(text.replace('    "zh:11"', () => '    "h1:$&",\n    "zh:11"'));
    expect(change("registry.example.com/team/a", "zh:00", "h1:abc/+=")).toBe(text);
    expect(change("registry.example.com/team/c", "h1:x")).toBe(text);
  });
  // With a parser that looks for the end of each block anew these take minutes.
  test.each([
    ["blocks that never end", 'provider "a" {\n'],
    ["lists that never end", 'provider "a" {\n  hashes = [\n'],
    [
      "one block for each hash",
      'provider "a" {\n  version = "1"\n  hashes = [\n    "h1:x",\n  ]\n}\n',
    ],
    ["blanks", 'provider "a" {\n  hashes' + " ".repeat(1000)],
    ["one long line", "provider \t "],
  ])("of a megabyte of %s is read in time linear in its size", (_, part) => {
    const hostile = part.repeat(1024 ** 2 / part.length);
    const locked = readLock(hostile);
    expect(withHashes(hostile, new Map([["a", ["h1:y"]]])).length).toBeGreaterThan(0);
    expect(locked.length).toBeLessThan(hostile.length);
  });
});
