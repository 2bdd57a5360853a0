/**
 * The published ways for an archive to write outside its directory, with real bytes: either the
 * whole archive is refused before anything is written, or it is unpacked as plain files in the
 * directory.
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
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { unpack } from "../../../../agent/job/source/archive.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();
/** The target of the links in the archives, which must not change. */
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
  /** A wrong size in the header. */
  readonly size?: number;
  readonly magic?: string;
}

/** Encodes one entry without any check. */
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
/** Encodes an extended header for the next entry (`x`) or for all (`g`). */
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
  ["a parent path (zip slip, CVE-2007-4559)", "refused", [entry("../pwned")]],
  ["a parent path up to the root", "refused", [entry(`${up}${out}/pwned`.slice(0, 99))]],
  ["a parent path of dots and slashes", "refused", [entry("./.././../pwned")]],
  ["a parent path after a directory (CVE-2016-6321)", "refused", [entry("a/../../pwned")]],
  ["a path that ends with the parent", "refused", [entry("a/..", { type: "5" })]],
  ["a parent path in the prefix of the header", "refused", [entry("pwned", { prefix: "../.." })]],
  ["a parent path split between prefix and name", "refused", [entry("/pwned", { prefix: "a/.." })]],
  ["an absolute path", "refused", [entry("/tmp/windlass-pwned")]],
  [
    "an absolute path with several slashes (CVE-2021-32804)",
    "refused",
    [entry("///tmp/windlass-pwned")],
  ],
  ["an absolute path after a dot", "refused", [entry(".//tmp/windlass-pwned")]],
  ["an absolute prefix", "refused", [entry("windlass-pwned", { prefix: "/tmp" })]],
  ["a drive letter", "refused", [entry("C:\\pwned")]],
  ["a drive letter with a relative path (CVE-2021-37713)", "refused", [entry("C:..\\..\\pwned")]],
  ["a network share", "refused", [entry("\\\\host\\share\\pwned")]],
  ["a parent path with backslashes", "refused", [entry("..\\..\\pwned")]],
  ["a parent path with mixed slashes", "refused", [entry("a/..\\../pwned")]],
  ["more than two dots", "within", [entry("..../pwned")]],
  ["an empty segment", "refused", [entry("a//pwned")]],
  ["a name of full-width dots", "within", [entry("．．/pwned")]],
  ["percent-encoded slashes", "within", [entry("..%2f..%2fpwned")]],
  ["a name with a line break", "within", [entry("a\nb")]],
  ["a name with shell commands", "within", [entry(`$(touch pwned)\`id\`;x`)]],
  ["a name that is an option", "within", [entry("--checkpoint-action=exec=sh")]],
  ["a name that is a Windows device", "within", [entry("CON"), entry("nul.tf")]],
  ["a name that is a Windows stream", "either", [entry("a:stream")]],
  ["a name that is a home directory", "within", [entry("~/pwned"), entry("~root/pwned")]],
  // Extended headers.
  ["an extended parent path", "refused", [pax({ path: "../pwned" }), entry("fine")]],
  ["an extended absolute path", "refused", [pax({ path: "/tmp/windlass-pwned" }), entry("fine")]],
  ["an extended path for all entries", "either", [pax({ path: "../pwned" }, "g"), entry("fine")]],
  ["an extended path with a NUL", "either", [pax({ path: "fine\0/../../pwned" }), entry("x")]],
  ["two extended paths", "refused", [pax({ path: "fine" }), pax({ path: "../pwned" }), entry("x")]],
  ["an extended link", "refused", [pax({ linkpath: victim }), symlink("link", "fine")]],
  ["a link target on a regular file", "either", [pax({ linkpath: `${victim}/file` }), entry("x")]],
  [
    "an extended size that hides a second archive (CVE-2025-62518)",
    "either",
    [pax({ size: "0" }), entry("a", { content: entry("../pwned").toString("latin1") }), entry("b")],
  ],
  ["an extended size beyond the end", "either", [pax({ size: "99999999999" }), entry("a")]],
  ["a negative extended size", "either", [pax({ size: "-1" }), entry("a")]],
  [
    "an extended owner and setuid mode",
    "either",
    [
      pax({ uid: "0", gid: "0", SCHILY_xattr: "security.capability" }),
      entry("a", { mode: "0006777" }),
    ],
  ],
  [
    "an extended sparse file",
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
  ["a long parent path", "refused", [long("../".repeat(50) + "pwned"), entry("fine")]],
  ["a long absolute path", "refused", [long(`/tmp/${"x".repeat(150)}`), entry("fine")]],
  ["a long link target", "refused", [long(victim, "K"), symlink("link", "fine")]],
  [
    "a long name for a link and a file through it",
    "refused",
    [long("link", "L"), symlink("x", victim), entry("link/file")],
  ],
  // Links.
  ["a link to an absolute path", "refused", [symlink("link", victim)]],
  ["a link to a parent path", "refused", [symlink("link", "../../..")]],
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
    "a link that replaces a directory (CVE-2021-32803)",
    "refused",
    [folder("a"), symlink("a", victim), entry("a/file")],
  ],
  [
    "a link, a directory that replaces it, and a file in it",
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
    "a link in another Unicode form (CVE-2021-37712)",
    "refused",
    [symlink("caf\u00e9", victim), entry("cafe\u0301/file")],
  ],
  ["a link in another letter case", "refused", [symlink("LINK", victim), entry("link/file")]],
  [
    "a link with backslashes (CVE-2021-37701)",
    "refused",
    [folder("a\\x"), symlink("a", victim), entry("a/file")],
  ],
  ["a link as the last entry", "refused", [entry("fine"), symlink("link", victim)]],
  ["a link to another entry", "refused", [entry("fine"), symlink("link", "fine")]],
  ["a hard link to an absolute path", "refused", [hardlink("link", `${victim}/file`)]],
  ["a hard link to a parent path", "refused", [hardlink("link", `${up}${out}/file`.slice(0, 99))]],
  [
    "a hard link to a link, and a file over it (CVE-2026-23745)",
    "refused",
    [symlink("a", `${victim}/file`), hardlink("b", "a"), entry("b")],
  ],
  ["a hard link to another entry", "refused", [entry("fine"), hardlink("link", "fine")]],
  [
    "a hard link with content",
    "refused",
    [entry("link", { type: "1", link: `${victim}/file`, content: "pwned" })],
  ],
  // Kinds.
  ["a character device", "refused", [entry("null", { type: "3" })]],
  ["a block device", "refused", [entry("disk", { type: "4" })]],
  ["a pipe", "refused", [entry("pipe", { type: "6" })]],
  ["a contiguous file", "within", [entry("a", { type: "7", content: "x" })]],
  ["a pre-POSIX file with a directory's name", "within", [entry("a/", { type: "\0", magic: "" })]],
  ["an old sparse file", "refused", [entry("a", { type: "S" })]],
  ["a volume label", "refused", [entry("../volume", { type: "V" })]],
  ["a multi-volume entry", "refused", [entry("a", { type: "M" })]],
  ["a directory listing", "refused", [entry("a", { type: "D" })]],
  [
    "an old GNU long name",
    "refused",
    [entry("x", { type: "N", content: "../pwned\0" }), entry("fine")],
  ],
  ["an old GNU rename", "either", [entry("a", { type: "N", content: "Rename a to ../pwned\n" })]],
  ["an unknown entry type", "refused", [entry("../pwned", { type: "Z", content: "x" })]],
  [
    "setuid, setgid and sticky modes",
    "within",
    [entry("a", { mode: "0006777" }), entry("b", { mode: "0001777" })],
  ],
  // Conflicting names.
  [
    "the same file twice",
    "within",
    [entry("a", { content: "first" }), entry("a", { content: "second" })],
  ],
  ["a file and a directory of the same name", "either", [entry("a"), entry("a/b")]],
  ["a directory and a file of the same name", "either", [folder("a"), entry("a/b"), entry("a")]],
  ["names that differ only in case", "within", [entry("A.tf"), entry("a.tf")]],
  [
    "names that differ only in Unicode form",
    "within",
    [entry("caf\u00e9.tf"), entry("cafe\u0301.tf")],
  ],
  ["a name over the file system's limit", "either", [pax({ path: "x".repeat(300) }), entry("a")]],
  [
    "a path over the system's limit",
    "either",
    [pax({ path: `${"d/".repeat(3000)}x` }), entry("a")],
  ],
  // Amounts.
  [
    "a path of 1500 directories (CVE-2024-28863)",
    "refused",
    [pax({ path: `${"d/".repeat(1500)}x` }), entry("a")],
  ],
  [
    "more content than the header's size",
    "either",
    [entry("a", { content: "x".repeat(1000), size: 10 })],
  ],
  ["less content than the header's size", "either", [entry("a", { content: "x", size: 100_000 })]],
  ["more bytes than the limit", "refused", [entry("a", { content: "0".repeat(1_000_001) })]],
  [
    "more entries than the limit",
    "refused",
    Array.from({ length: 1001 }, (_, index) => entry(`f${index}`, { content: "" })),
  ],
];

test("the table has at least eighty archives with distinct names", () => {
  expect(new Set(shapes.map(([name]) => name)).size).toBe(shapes.length);
  expect(shapes.length).toBeGreaterThanOrEqual(80);
});

test.each(shapes)("an archive with %s: %s", async (name, expected, blocks) => {
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
  if (expected === "refused")
    expect(result).toMatch(/^StepFailedError: source: the archive is refused/);
  if (result !== "within") expect(result).toMatch(/^StepFailedError: source: the archive /);
  // Only plain files and only in the directory, with nothing changed elsewhere.
  const names = readdirSync(place, { recursive: true, encoding: "utf8" }).toSorted();
  const beside = names.filter((name) => !/^a(\/b(\/folder(\/|$)|$)|$)/.test(name));
  expect([name, beside]).toEqual([name, []]);
  const odd = readdirSync(target, { recursive: true, encoding: "utf8" }).filter((name) => {
    const stat = lstatSync(join(target, name));
    const isPlain = stat.isDirectory() || (stat.isFile() && stat.nlink === 1);
    return !isPlain || (stat.mode & 0o7077) !== 0;
  });
  expect([name, odd]).toEqual([name, []]);
  if (result.includes("refused")) expect(readdirSync(target)).toEqual([]);
  expect(readdirSync(victim)).toEqual(["file"]);
  expect(readFileSync(join(victim, "file"), "utf8")).toBe("untouched");
  expect(existsSync("/tmp/windlass-pwned")).toBe(false);
  rmSync(place, { recursive: true });
});
