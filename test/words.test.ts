/** The words that documents, comments and messages avoid, each with what to write instead. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFiles, root } from "./helpers/source-files.ts";

const words: readonly (readonly [avoided: RegExp, instead: string])[] = [
  [
    /\b(?:whoever|somebody|nobody|anybody)\b/i,
    "name the subject: the client, the runner, the user",
  ],
  [/\bstrangers?\b/i, "an unknown client, another user, an orphaned blob"],
  [/\bshall\b/i, "must, or will"],
  [/\b(?:is|are) told so\b/i, "say what is reported, and to which part"],
  [/\bthat (?:is|are) none\b/i, "an invalid …, not a …"],
  [/\bas (?:it is|they are)(?=[.,:;])/i, "unchanged"],
  [/\bat so many\b/i, "the unit: at most 50 a second"],
  [/\bgo(?:es)? on with\b/i, "continues with"],
  [
    /\b(?:an?|the|this|that|these|those|no|one|each|every|its|their|other|another|same|such|top|local|empty|separate|existing|temporary) folders?\b/i,
    "a directory",
  ],
];

/** Words that only code may have, as names. */
const names: typeof words = [[/\bfolders?\b/i, "a directory"]];

/**
 * A worker is the registration of a runner: it is registered, online, drained or removed. What acts is
 * the runner.
 */
const texts: typeof words = [
  [
    /(?<!\brunners? of (?:[\w-]+ ){0,3})\bworkers? (?:(?:that|which) )?(?:(?:may|can|could|must|will|has|have|still) )*(?:runs?|ran|starts?|started|stops?|stopped|reads?|sends?|sent|comes? back|(?:was|is) lost)\b/i,
    "the runner acts; a worker is its registration",
  ],
  [/\bstart (?:an?|another|the) worker\b/i, "start a runner; a worker is its registration"],
];

/**
 * What people read: documents, and what client, console, agent and settings print. One document
 * quotes titles of tests.
 */
const isRead = (path: string, line: string): boolean =>
  (path.endsWith(".md") && path !== "docs/interface.md") ||
  (/^(?:cli|agent|common|protocol|control-plane\/(?:console|services|domain))\//.test(path) &&
    !isProse(path, line));

/** Names the words itself. */
const own = "test/words.test.ts";

const isText = (path: string): boolean => !/\.(svg|json|pem|gz|zip|png|woff2?)$/.test(path);

/** Code in documents keeps the names that it has. */
const proseOf = (path: string, text: string): string =>
  path.endsWith(".md") ? text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, "") : text;

const isProse = (path: string, line: string): boolean =>
  path.endsWith(".md") || /^\s*(?:\/\/|\/?\*)/.test(line);

const found = (path: string, text: string): string[] =>
  proseOf(path, text)
    .split("\n")
    .flatMap((line) => {
      const inWords = words.map(([avoided, instead]) => [avoided.exec(line), instead] as const);
      const prose = isProse(path, line) ? line.replaceAll(/`[^`]*`/g, "") : "";
      const inNames = names.map(([avoided, instead]) => [avoided.exec(prose), instead] as const);
      const inTexts = texts.map(
        ([avoided, instead]) => [isRead(path, line) && avoided.exec(line), instead] as const,
      );
      return [...inWords, ...inNames, ...inTexts].flatMap(([match, instead]) =>
        match ? [`${path}: "${match[0]}": ${instead}`] : [],
      );
    });

describe("documents, comments and messages", () => {
  it("use plain words", () => {
    const files = projectFiles().filter((path) => isText(path) && path !== own);
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap((path) => found(path, readFileSync(join(root, path), "utf8")))).toEqual(
      [],
    );
  });

  it("are reported when they do not", () => {
    expect(found("docs/a.md", "Whoever asks, `nobody` answers")).toEqual([
      'docs/a.md: "Whoever": name the subject: the client, the runner, the user',
    ]);
    expect(found("agent/a.ts", "// Makes folders, as `folder` says")).toEqual([
      'agent/a.ts: "folders": a directory',
    ]);
    expect(found("cli/a.ts", 'say("no worker that may run it: start another worker")')).toEqual([
      'cli/a.ts: "worker that may run": the runner acts; a worker is its registration',
      'cli/a.ts: "start another worker": start a runner; a worker is its registration',
    ]);
    expect(found("agent/a.ts", 'const folder = "it has no folder"')).toEqual([
      'agent/a.ts: "no folder": a directory',
    ]);
  });
});
