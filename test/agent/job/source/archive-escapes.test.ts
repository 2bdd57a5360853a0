/**
 * Every published way for an archive to write where it should not, each with real bytes through the real unpacking: either the whole archive
 * is refused before anything is written, or what it holds lands as plain files within the folder.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unpack } from "../../../../agent/job/source/archive.ts";

const root = mkdtempSync(join(tmpdir(), "escapes-"));
afterAll(() => rmSync(root, { recursive: true }));
/** What the links of the archives lead to: it must be as it is afterwards. */
const victim = join(root, "victim");
beforeAll(() => {
  mkdirSync(victim);
  writeFileSync(join(victim, "file"), "untouched");
});

interface Raw {
  readonly type?: string;
  readonly link?: string;
  readonly content?: string;
  readonly mode?: string;
  readonly prefix?: string;
  /** What the header says, where that is not so. */
  readonly size?: number;
  readonly magic?: string;
}

/** One entry, byte by byte, whatever it says. */
function entry(name: string, raw: Raw = {}): Buffer {
  const { type = "0", link = "", mode = "0000644", prefix = "", magic = "ustar\u000000" } = raw;
  const content = Buffer.from(raw.content ?? (type === "0" ? "pwned" : ""));
  const head = Buffer.alloc(512);
  head.write(name, 0, 100, "utf8");
  head.write(`${mode}\0`, 100, "latin1");
  head.write("0000000\0".repeat(2), 108, "latin1");
  head.write(`${(raw.size ?? content.length).toString(8).padStart(11, "0")}\0`, 124, "latin1");
  head.write("00000000000\0", 136, "latin1");
  head.write("        ", 148, "latin1");
  head.write(type, 156, "latin1");
  head.write(link, 157, 100, "utf8");
  head.write(magic, 257, "latin1");
  head.write(prefix, 345, 155, "utf8");
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return Buffer.concat([head, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}
/** An extended header of these records, for the next entry (`x`) or for all (`g`). */
function pax(records: Readonly<Record<string, string>>, type = "x"): Buffer {
  const content = Object.entries(records)
    .map(([key, value]) => {
      const rest = ` ${key}=${value}\n`;
      const bytes = Buffer.byteLength(rest);
      let length = bytes + String(bytes).length;
      if (String(length).length > String(bytes).length) length = bytes + String(length).length;
      return `${length}${rest}`;
    })
    .join("");
  return entry("PaxHeader", { type, content });
}
const folder = (name: string): Buffer => entry(name, { type: "5", mode: "0000755" });
const symlink = (name: string, link: string): Buffer => entry(name, { type: "2", link });
const hardlink = (name: string, link: string): Buffer => entry(name, { type: "1", link });
const long = (name: string, type = "L"): Buffer =>
  entry("././@LongLink", { type, content: `${name}\0` });
const up = "../".repeat(8);
const out = victim.slice(1);

const shapes: [string, "refused" | "within" | "either", Buffer[]][] = [
  // Names.
  ["a name upwards (zip slip, CVE-2007-4559)", "refused", [entry("../pwned")]],
  ["a name far upwards to an absolute place", "refused", [entry(`${up}${out}/pwned`.slice(0, 99))]],
  ["a name upwards after a folder (CVE-2016-6321)", "refused", [entry("a/../../pwned")]],
  ["a name that only ends upwards", "refused", [entry("a/..", { type: "5" })]],
  ["a name upwards by the prefix of its header", "refused", [entry("pwned", { prefix: "../.." })]],
  [
    "a name upwards split between prefix and name",
    "refused",
    [entry("/pwned", { prefix: "a/.." })],
  ],
  ["an absolute name", "refused", [entry("/tmp/windlass-pwned")]],
  [
    "an absolute name of several slashes (CVE-2021-32804)",
    "refused",
    [entry("///tmp/windlass-pwned")],
  ],
  ["an absolute name after a dot", "refused", [entry(".//tmp/windlass-pwned")]],
  ["an absolute prefix", "refused", [entry("windlass-pwned", { prefix: "/tmp" })]],
  ["a drive", "refused", [entry("C:\\pwned")]],
  ["a drive and a relative way (CVE-2021-37713)", "refused", [entry("C:..\\..\\pwned")]],
  ["a share", "refused", [entry("\\\\host\\share\\pwned")]],
  ["backslashes upwards", "refused", [entry("..\\..\\pwned")]],
  ["slashes of both kinds", "refused", [entry("a/..\\../pwned")]],
  ["more than two dots", "within", [entry("..../pwned")]],
  ["an empty segment", "refused", [entry("a//pwned")]],
  ["a name of dots in another script", "within", [entry("．．/pwned")]],
  ["percent signs for slashes", "within", [entry("..%2f..%2fpwned")]],
  ["a line break in its name", "within", [entry("a\nb")]],
  ["what a shell would run as its name", "within", [entry(`$(touch pwned)\`id\`;x`)]],
  ["an option as its name", "within", [entry("--checkpoint-action=exec=sh")]],
  ["a device of another system as its name", "within", [entry("CON"), entry("nul.tf")]],
  ["a stream of another system as its name", "either", [entry("a:stream")]],
  ["a name that is a home", "within", [entry("~/pwned"), entry("~root/pwned")]],
  // Extended headers.
  ["an extended name upwards", "refused", [pax({ path: "../pwned" }), entry("fine")]],
  ["an extended absolute name", "refused", [pax({ path: "/tmp/windlass-pwned" }), entry("fine")]],
  ["an extended name for all entries", "either", [pax({ path: "../pwned" }, "g"), entry("fine")]],
  [
    "an extended name with a zero in it",
    "either",
    [pax({ path: "fine\0/../../pwned" }), entry("x")],
  ],
  [
    "an extended name twice",
    "refused",
    [pax({ path: "fine" }), pax({ path: "../pwned" }), entry("x")],
  ],
  ["an extended link", "refused", [pax({ linkpath: victim }), symlink("link", "fine")]],
  [
    "a link only by its extended header",
    "either",
    [pax({ linkpath: `${victim}/file` }), entry("x")],
  ],
  [
    "an extended size that hides a second archive (CVE-2025-62518)",
    "either",
    [pax({ size: "0" }), entry("a", { content: entry("../pwned").toString("latin1") }), entry("b")],
  ],
  ["an extended size beyond the end", "either", [pax({ size: "99999999999" }), entry("a")]],
  ["an extended size that is none", "either", [pax({ size: "-1" }), entry("a")]],
  [
    "extended headers of another owner and mode",
    "either",
    [
      pax({ uid: "0", gid: "0", SCHILY_xattr: "security.capability" }),
      entry("a", { mode: "0006777" }),
    ],
  ],
  [
    "sparse files of the extended kind",
    "either",
    [
      pax({
        "GNU.sparse.name": "../pwned",
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.realsize": "99999999",
      }),
      entry("a"),
    ],
  ],
  ["a long name upwards", "refused", [long("../".repeat(50) + "pwned"), entry("fine")]],
  ["a long absolute name", "refused", [long(`/tmp/${"x".repeat(150)}`), entry("fine")]],
  ["a long link", "refused", [long(victim, "K"), symlink("link", "fine")]],
  [
    "a long name for a link and a file through it",
    "refused",
    [long("link", "L"), symlink("x", victim), entry("link/file")],
  ],
  // Links.
  ["a link outward", "refused", [symlink("link", victim)]],
  ["a link upwards", "refused", [symlink("link", "../../..")]],
  [
    "a link and a file through it (CVE-2001-1267, CVE-2018-20990)",
    "refused",
    [symlink("link", victim), entry("link/file")],
  ],
  [
    "a link and a file of the same name (CVE-2018-12015)",
    "refused",
    [symlink("link", `${victim}/file`), entry("link")],
  ],
  [
    "a link in the place of a folder (CVE-2021-32803)",
    "refused",
    [folder("a"), symlink("a", victim), entry("a/file")],
  ],
  [
    "a link, its removal by a folder, a file",
    "refused",
    [symlink("a", victim), folder("a"), entry("a/file")],
  ],
  ["a link to a link", "refused", [symlink("a", "."), symlink("a/b", ".."), entry("a/b/pwned")]],
  ["a link to itself", "refused", [symlink("a", "a"), entry("a/pwned")]],
  [
    "a link whose name ends with a slash",
    "refused",
    [symlink("link/", victim), entry("link/file")],
  ],
  [
    "a link in other letters (CVE-2021-37712)",
    "refused",
    [symlink("caf\u00e9", victim), entry("cafe\u0301/file")],
  ],
  ["a link in another case", "refused", [symlink("LINK", victim), entry("link/file")]],
  [
    "a link with backslashes (CVE-2021-37701)",
    "refused",
    [folder("a\\x"), symlink("a", victim), entry("a/file")],
  ],
  ["a link last", "refused", [entry("fine"), symlink("link", victim)]],
  ["a link within", "refused", [entry("fine"), symlink("link", "fine")]],
  ["a hard link outward", "refused", [hardlink("link", `${victim}/file`)]],
  ["a hard link upwards", "refused", [hardlink("link", `${up}${out}/file`.slice(0, 99))]],
  [
    "a hard link to a link, and a file over it (CVE-2026-23745)",
    "refused",
    [symlink("a", `${victim}/file`), hardlink("b", "a"), entry("b")],
  ],
  ["a hard link within", "refused", [entry("fine"), hardlink("link", "fine")]],
  [
    "a hard link that has content of its own",
    "refused",
    [entry("link", { type: "1", link: `${victim}/file`, content: "pwned" })],
  ],
  // Kinds.
  ["a character device", "refused", [entry("null", { type: "3" })]],
  ["a block device", "refused", [entry("disk", { type: "4" })]],
  ["a pipe", "refused", [entry("pipe", { type: "6" })]],
  ["a contiguous file", "within", [entry("a", { type: "7", content: "x" })]],
  [
    "a file of the oldest kind with a folder's name",
    "within",
    [entry("a/", { type: "\0", magic: "" })],
  ],
  ["an old sparse file", "refused", [entry("a", { type: "S" })]],
  ["a volume's name", "refused", [entry("../volume", { type: "V" })]],
  ["a part of several volumes", "refused", [entry("a", { type: "M" })]],
  ["a list of a folder", "refused", [entry("a", { type: "D" })]],
  [
    "a long name of the oldest kind",
    "refused",
    [entry("x", { type: "N", content: "../pwned\0" }), entry("fine")],
  ],
  ["a renaming", "either", [entry("a", { type: "N", content: "Rename a to ../pwned\n" })]],
  ["a kind that nobody knows", "refused", [entry("../pwned", { type: "Z", content: "x" })]],
  [
    "bits for other users' rights",
    "within",
    [entry("a", { mode: "0006777" }), entry("b", { mode: "0001777" })],
  ],
  // One name, several things.
  ["a file twice", "within", [entry("a", { content: "first" }), entry("a", { content: "second" })]],
  ["a file that is a folder too", "either", [entry("a"), entry("a/b")]],
  ["a folder that is a file too", "either", [folder("a"), entry("a/b"), entry("a")]],
  ["names that differ in case alone", "within", [entry("A.tf"), entry("a.tf")]],
  [
    "names that differ in composition alone",
    "within",
    [entry("caf\u00e9.tf"), entry("cafe\u0301.tf")],
  ],
  [
    "a name longer than a file system takes",
    "either",
    [pax({ path: "x".repeat(300) }), entry("a")],
  ],
  [
    "a way longer than a system takes",
    "either",
    [pax({ path: `${"d/".repeat(3000)}x` }), entry("a")],
  ],
  // Amounts.
  [
    "folders without number in one name (CVE-2024-28863)",
    "refused",
    [pax({ path: `${"d/".repeat(1500)}x` }), entry("a")],
  ],
  ["more than its size says", "either", [entry("a", { content: "x".repeat(1000), size: 10 })]],
  ["less than its size says", "either", [entry("a", { content: "x", size: 100_000 })]],
  ["more bytes than may be", "refused", [entry("a", { content: "0".repeat(1_000_001) })]],
  [
    "more entries than may be",
    "refused",
    Array.from({ length: 1001 }, (_, index) => entry(`f${index}`, { content: "" })),
  ],
];

test("there are eighty shapes, no two alike", () => {
  expect(new Set(shapes.map(([what]) => what)).size).toBe(shapes.length);
  expect(shapes.length).toBeGreaterThanOrEqual(80);
});

test.each(shapes)("%s: %s", async (what, expected, blocks) => {
  const place = mkdtempSync(join(root, "case-"));
  const target = join(place, "a", "b", "folder");
  mkdirSync(target, { recursive: true });
  const file = join(root, "archive.tar.gz");
  const tar = Buffer.concat([entry("first.tf"), ...blocks, Buffer.alloc(1024)]);
  writeFileSync(file, gzipSync(tar));
  const limits = { entries: 1000, bytes: 1_000_000 };
  const result = await unpack(file, target, limits, "source").then(
    () => "within",
    (error: unknown) => String(error),
  );
  if (expected === "within") expect(result).toBe("within");
  if (expected === "refused") expect(result).toMatch(/^StepFailed: source: the archive is refused/);
  if (result !== "within") expect(result).toMatch(/^StepFailed: source: the archive /);
  // Nothing beside the folder, nothing but plain files in it, nothing changed elsewhere.
  const names = readdirSync(place, { recursive: true, encoding: "utf8" }).toSorted();
  const beside = names.filter((name) => !/^a(\/b(\/folder(\/|$)|$)|$)/.test(name));
  expect([what, beside]).toEqual([what, []]);
  const odd = readdirSync(target, { recursive: true, encoding: "utf8" }).filter((name) => {
    const stat = lstatSync(join(target, name));
    const isPlain = stat.isDirectory() || (stat.isFile() && stat.nlink === 1);
    return !isPlain || (stat.mode & 0o7077) !== 0;
  });
  expect([what, odd]).toEqual([what, []]);
  if (result.includes("refused")) expect(readdirSync(target)).toEqual([]);
  expect(readdirSync(victim)).toEqual(["file"]);
  expect(readFileSync(join(victim, "file"), "utf8")).toBe("untouched");
  expect(existsSync("/tmp/windlass-pwned")).toBe(false);
  rmSync(place, { recursive: true });
});
