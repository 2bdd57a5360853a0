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
];

/** Names the words itself. */
const own = "test/words.test.ts";

const isText = (path: string): boolean => !/\.(svg|json|pem|gz|zip|png|woff2?)$/.test(path);

/** Code in documents keeps the names that it has. */
const proseOf = (path: string, text: string): string =>
  path.endsWith(".md") ? text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, "") : text;

const found = (path: string, text: string): string[] =>
  proseOf(path, text)
    .split("\n")
    .flatMap((line) =>
      words
        .filter(([avoided]) => avoided.test(line))
        .map(([avoided, instead]) => `${path}: "${avoided.exec(line)?.[0]}": ${instead}`),
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
  });
});
