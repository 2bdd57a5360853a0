/** The words that documents, comments and messages avoid, each with what to write instead. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFiles, root } from "./helpers/project/source-files.ts";

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
  [/\bclass (?!\w*Error\b)\w+ extends \w*Error\b/, "the name of an error class ends in Error"],
  [/\bstart (?:an?|another|the) worker\b/i, "start a runner; a worker is its registration"],
];

/** Names the words itself. */
const own = "test/words.test.ts";

const isText = (path: string): boolean => !/\.(svg|json|pem|gz|zip|png|webp|woff2?)$/.test(path);

/** Code in documents keeps the names that it has. */
const proseOf = (path: string, text: string): string =>
  path.endsWith(".md") ? text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, "") : text;

const found = (path: string, text: string): string[] =>
  words.flatMap(([avoided, instead]) =>
    [...proseOf(path, text).matchAll(new RegExp(avoided, "gi"))].map(
      ([match]) => `${path}: "${match}": ${instead}`,
    ),
  );

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
    expect(found("agent/a.ts", 'const folder = "it has no folder"')).toEqual([
      'agent/a.ts: "no folder": a directory',
    ]);
    expect(found("agent/a.ts", "class JobRefused extends Error {")).toHaveLength(1);
    expect(found("agent/a.ts", "class JobRefusedError extends Error {")).toEqual([]);
  });
});
