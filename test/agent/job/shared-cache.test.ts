/** The cache of engines and provider packages: what is removed, and in which order. */
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  forOpenTofu,
  isPlainLock,
  readLock,
  withHashes,
} from "../../../agent/job/providers/lock-file.ts";
import {
  isUnchanged,
  packageHash,
  packagesIn,
  repairStore,
  storedPackages,
  storePackage,
} from "../../../agent/job/providers/store.ts";
import { holdEngine, keepWithin, removePartials } from "../../../agent/job/shared-cache.ts";
import { workspaceAt } from "../../../agent/job/workspace.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";

let workDir: string;
folderForEachTest((path) => {
  workDir = path;
});

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
/** A package as `init` installs it. */
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
async function cachedPackage(type: string, daysAgo: number): Promise<string> {
  const found = installed(type, "x".repeat(megabyte));
  const hashes = [await packageHash(found.path), "zh:00"];
  await storePackage(store(), found, { hashes, isComplete: true }, () => true);
  const path = join(store(), found.address, "1.0.0", "linux_amd64");
  used(path, daysAgo);
  return path;
}
const workspace = (id: string) => workspaceAt(join(workDir, "workspaces", id));

describe("above the size limit", () => {
  test("the least recently used engines and packages are removed until the cache fits", async () => {
    const [old, newer] = [engine("1.9.0", 5), engine("1.11.0", 1)];
    const [older, fresh] = [await cachedPackage("older", 6), await cachedPackage("fresh", 0)];
    expect(keepWithin(workDir, 5 * megabyte)).toEqual([]);
    expect(keepWithin(workDir, 2.5 * megabyte)).toEqual([older, old]);
    expect([old, newer, older, fresh].map((path) => existsSync(path))).toEqual([
      false,
      true,
      false,
      true,
    ]);
    // Their directories and records are removed too.
    expect(readdirSync(join(workDir, "engines", "terraform"))).toEqual(["1.11.0"]);
    expect(readdirSync(join(store(), "registry.example.com", "team"))).toEqual(["fresh"]);
  });

  test("an engine or package in use by a job is not removed", async () => {
    const path = engine("1.9.0", 500);
    const kept = await cachedPackage("used", 500);
    expect(holdEngine(workDir, workspace("job"), path)).toBe(true);
    used(dirname(path), 500);
    const link = join(
      workspace("job").shared,
      "providers/registry.example.com/team/used/1.0.0/linux_amd64",
    );
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(kept, link);
    expect(keepWithin(workDir, 0)).toEqual([]);
    rmSync(workspace("job").root, { recursive: true });
    expect(keepWithin(workDir, 0).toSorted()).toEqual([path, kept].toSorted());
  });
});

test("an engine is removed when it was not used for the maximum time", () => {
  const [unused, inUse] = [engine("1.9.0", 91), engine("1.10.0", 91)];
  holdEngine(workDir, workspace("done"), inUse);
  rmSync(workspace("done").root, { recursive: true });
  expect(keepWithin(workDir, 1e12)).toEqual([unused]);
});

test("holdEngine returns false for a removed engine and true for one outside the cache", () => {
  const path = engine("1.9.0", 1);
  keepWithin(workDir, 0);
  expect(holdEngine(workDir, workspace("late"), path)).toBe(false);
  expect(holdEngine(workDir, workspace("late"), "/usr/bin/terraform")).toBe(true);
});

test("a missing work directory is not an error", () => {
  expect(keepWithin(join(workDir, "none"), 0)).toEqual([]);
  removePartials(join(workDir, "none"));
});

describe("a package is not cached", () => {
  const wrong = { hashes: ["h1:something else"], isComplete: true };
  test("when its hash is not in the lock file", async () => {
    await expect(storePackage(store(), installed("thing"), wrong, () => true)).rejects.toThrow(
      /does not match the hash in the lock file/,
    );
    expect(storedPackages(store())).toEqual([]);
    expect(readdirSync(store()).filter((name) => name.startsWith("."))).toEqual([]);
  });
  test("when it has a link", async () => {
    const found = installed("thing");
    symlinkSync("/etc/passwd", join(found.path, "link"));
    await expect(storePackage(store(), found, wrong, () => true)).rejects.toThrow(
      /is not a regular file/,
    );
  });
  test("when there is no space", async () => {
    await storePackage(store(), installed("thing"), wrong, () => false);
    expect(existsSync(store())).toBe(false);
  });
  test("when its path is not that of a provider", () => {
    for (const name of ["..", ".partial-x", "a b", "-x", "\u00e9"])
      mkdirSync(join(workDir, "odd", name, "team", "thing", "1.0.0", "linux_amd64"), {
        recursive: true,
      });
    symlinkSync(join(workDir, "odd"), join(workDir, "odd", "link.example"));
    expect(packagesIn(join(workDir, "odd"))).toEqual([]);
  });
  test("when a killed agent left it incomplete", () => {
    mkdirSync(join(store(), ".partial-abc", "docs"), { recursive: true });
    removePartials(workDir);
    expect(readdirSync(store())).toEqual([]);
  });
});

test("a cached package is never replaced by another of the same name", async () => {
  const path = await cachedPackage("thing", 0);
  const other = installed("thing", "other");
  chmodSync(other.path, 0o755);
  const hashes = [await packageHash(other.path)];
  const before = await packageHash(path);
  await storePackage(store(), other, { hashes, isComplete: true }, () => true);
  expect(await packageHash(path)).toBe(before);
});

describe("the record of a package", () => {
  const recordOf = () => storedPackages(store())[0]?.record;
  const keep = async (origin: object, found = installed("thing")): Promise<void> => {
    const h1 = await packageHash(found.path);
    const hashes = [h1, "zh:11", "zh:00"];
    await storePackage(store(), found, { hashes, isComplete: false, ...origin }, () => true);
  };
  test("has the zips of the lock file, unless that has the hash of the package", async () => {
    const found = installed("thing");
    await keep({ source: [await packageHash(found.path), "zh:11", "zh:00"] }, found);
    expect(recordOf()).toMatchObject({ hashes: null });
    expect(recordOf()?.zips).toBeUndefined();
    await keep({ source: ["h1:of-another-platform", "zh:11", "zh:00"] }, found);
    expect(recordOf()).toMatchObject({ hashes: null, zips: ["zh:00", "zh:11"] });
  });
  test("has its mirror, and is replaced by one with the hashes of all platforms", async () => {
    await keep({ source: ["zh:11", "zh:00"] });
    await keep({ mirror: "https://mirror.example/" });
    expect(recordOf()).toMatchObject({
      mirror: "https://mirror.example/",
      zips: ["zh:00", "zh:11"],
    });
    await keep({ isComplete: true });
    expect(recordOf()?.hashes).toHaveLength(3);
    await keep({ mirror: "https://other.example/" });
    expect(recordOf()).toMatchObject({ mirror: "https://mirror.example/" });
  });
});

test("at level process only unchanged packages that this agent stored are used", async () => {
  const path = await cachedPackage("thing", 0);
  const [kept] = storedPackages(store(), "process");
  if (!kept) throw new Error("nothing is stored");
  expect(await isUnchanged(kept, "process")).toBe(true);
  rmSync(join(path, "terraform-provider-thing"));
  writeFileSync(join(path, "terraform-provider-thing"), "planted");
  writeFileSync(`${path}.json`, JSON.stringify({ ...kept.record, h1: await packageHash(path) }));
  expect(await isUnchanged(kept, "process")).toBe(false);
  expect(storedPackages(store(), "process")).toEqual([]);
  expect(existsSync(path)).toBe(false);
});

test("at level process a package that another process stored is replaced", async () => {
  const found = installed("planted");
  const path = join(store(), found.address, "1.0.0", "linux_amd64");
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "terraform-provider-planted"), "planted");
  const h1 = await packageHash(path);
  writeFileSync(`${path}.json`, JSON.stringify({ h1, hashes: [h1], bytes: 7 }));
  expect(storedPackages(store(), "process")).toEqual([]);
  const hashes = [await packageHash(found.path)];
  await storePackage(store(), found, { hashes, isComplete: true, level: "process" }, () => true);
  expect(await packageHash(path)).toBe(hashes[0]);
});

/** Another user, as a job has one at the level `uid`. */
const other = 65_534;
const isRoot = process.getuid?.() === 0;
const ownerAndMode = (path: string): [number, number] => {
  const { uid, mode } = statSync(path);
  return [uid, mode & 0o777];
};

describe("the files of a package", () => {
  test("belong to the agent and cannot be written, even if another user has downloaded them", async () => {
    const found = installed("thing");
    const files = ["terraform-provider-thing", join("docs", "README")];
    if (isRoot) for (const file of files) chownSync(join(found.path, file), other, other);
    const hashes = [await packageHash(found.path)];
    await storePackage(store(), found, { hashes, isComplete: true }, () => true);
    const path = join(store(), found.address, "1.0.0", "linux_amd64");
    expect(files.map((file) => ownerAndMode(join(path, file)))).toEqual([
      [process.getuid?.(), 0o555],
      [process.getuid?.(), 0o444],
    ]);
  });

  test("of an earlier release are sealed, and an open file no longer leads to them", async (context) => {
    if (!isRoot) return context.skip("only root can change the owner of a file");
    const [kept, changed] = [await cachedPackage("kept", 0), await cachedPackage("changed", 0)];
    const program = (path: string, type: string) => join(path, `terraform-provider-${type}`);
    for (const file of [program(kept, "kept"), program(changed, "changed")]) {
      chmodSync(file, 0o755);
      chownSync(file, other, other);
    }
    chmodSync(join(kept, "docs", "README"), 0o644);
    writeFileSync(program(changed, "changed"), "planted");
    const open = openSync(program(kept, "kept"), "r+");
    expect(await repairStore(store())).toEqual([changed]);
    writeSync(open, "planted");
    closeSync(open);
    expect(readFileSync(program(kept, "kept"), "utf8").slice(0, 7)).toBe("xxxxxxx");
    expect(ownerAndMode(program(kept, "kept"))).toEqual([0, 0o555]);
    expect(ownerAndMode(join(kept, "docs", "README"))).toEqual([0, 0o444]);
    expect(storedPackages(store()).map(({ path }) => path)).toEqual([kept]);
    expect(readdirSync(store()).filter((name) => name.startsWith("."))).toEqual([]);
  });
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
  test("is parsed", () => {
    expect(readLock(text)).toMatchObject([
      { address: "registry.example.com/team/a", version: "1.2.3", hashes: ["h1:abc/+=", "zh:00"] },
      { address: "registry.example.com/team/b", version: "2.0.0", hashes: ["zh:11"] },
    ]);
    expect(readLock("provider {")).toEqual([]);
    expect(readLock("")).toEqual([]);
  });
  test("gets additional hashes in terraform's format, and is otherwise unchanged", () => {
    const change = (address: string, ...hashes: string[]) =>
      withHashes(text, new Map([[address, hashes]]));
    const changed = change("registry.example.com/team/b", "zh:11", "h1:$&", "zh:11");
    expect(changed).toBe(text.replace('    "zh:11"', () => '    "h1:$&",\n    "zh:11"'));
    expect(change("registry.example.com/team/a", "zh:00", "h1:abc/+=")).toBe(text);
    expect(change("registry.example.com/team/c", "h1:x")).toBe(text);
  });
  const block = (address: string, ...hashes: string[]): string =>
    `provider "${address}" {\n  version     = "1.2.3"\n  constraints = "~> 1.2"\n  hashes = [\n${hashes.map((hash) => `    "${hash}",\n`).join("")}  ]\n}\n`;
  const open = 'provider "a" {\n  version = "1.2.3"\n}\n';
  const ofTerraform = "registry.terraform.io/hashicorp/random";
  const ofTofu = "registry.opentofu.org/hashicorp/random";

  test("of terraform gets entries for OpenTofu in the same version, without hashes", () => {
    const others = block("registry.terraform.io/cloudflare/cloudflare", "zh:01");
    const old = `# Maintained by terraform.\n\n${block(ofTerraform, "h1:a/+=", "zh:00")}\n${others}`;
    const { lock, added } = forOpenTofu(old);
    expect(added).toEqual([{ address: ofTofu, version: "1.2.3", hashes: [], isOpen: true }]);
    expect(lock).toBe(`${old}\nprovider "${ofTofu}" {\n  version = "1.2.3"\n}\n`);
    expect(readLock(lock).map(({ address, isOpen }) => [address, isOpen])).toEqual([
      [ofTerraform, false],
      ["registry.terraform.io/cloudflare/cloudflare", false],
      [ofTofu, true],
    ]);
    expect(forOpenTofu(lock)).toEqual({ lock, added: [] });
    const completed = withHashes(lock, new Map([[ofTofu, ["zh:01", "h1:b"]]]));
    const list = `  version = "1.2.3"\n  hashes = [\n    "h1:b",\n    "zh:01",\n  ]\n}\n`;
    expect(completed).toBe(lock.replace(/  version = "1.2.3"\n}\n$/, list));
  });
  test("that names a provider of OpenTofu in any layout keeps it", () => {
    const both = `${block(ofTerraform, "zh:00")}provider "${ofTofu}" { version = "1.0.0" }\n`;
    expect(forOpenTofu(both)).toEqual({ lock: both, added: [] });
  });
  test.each([
    ["a comment of several lines", `/*\n${open}*/\n`],
    ["a list on one line", 'provider "a" {\n  version = "1"\n  hashes = ["zh:00"]\n}\n'],
    ["two hashes on one line", block("a", 'zh:00", "zh:11')],
    ["an escape", block("a", String.raw`zh:0\u0030`)],
    ["a block that does not end", block("a").slice(0, -2)],
  ])("with %s is not in terraform's layout, and no entry of it is open", (_, odd) => {
    const lock = open + odd;
    expect(isPlainLock(lock)).toBe(false);
    expect(readLock(lock).some(({ isOpen }) => isOpen)).toBe(false);
    expect(readLock(open)).toMatchObject([{ address: "a", isOpen: true }]);
  });
  test("of many providers becomes OpenTofu's in time linear in its size", () => {
    const old = Array.from({ length: 8000 }, (_, n) => block(`${ofTerraform}${n}`)).join("");
    expect(forOpenTofu(old).added).toHaveLength(8000);
  });

  // These take minutes with a parser that searches the end of each block again.
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
