import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { equalSecrets } from "../../common/equal-secrets.ts";
import { sourceFiles } from "../helpers/project/source-files.ts";

it("equalSecrets is true for equal secrets only, of any length", () => {
  expect(equalSecrets("secret", "secret")).toBe(true);
  for (const other of ["", "secres", "secret ", "Secret", "secre", "s\u00e9cret"])
    expect(equalSecrets("secret", other)).toBe(false);
});

/**
 * Matches a secret's name beside an equality operator. Checks for presence and comparisons of
 * hashes do not match.
 */
const name = String.raw`(?<!typeof )\b\w*(?:[tT]oken|[sS]ecret|[pP]assword|verification_code|[gG]uess)\b`;
const compared = new RegExp(
  `${name}\\s*[!=]==(?!\\s*(?:undefined|null|"|TokenType))|[!=]==\\s*${name}(?!\\.)`,
);

it("the control plane compares secrets only with equalSecrets, and no other code has its own", () => {
  const root = join(import.meta.dirname, "../..");
  const files = sourceFiles()
    .filter(({ path }) => /^(agent|common|control-plane|protocol)\//.test(path))
    .map(({ path }) => ({ path, text: readFileSync(join(root, path), "utf8") }));
  const helper = "common/equal-secrets.ts";
  const naked = files.filter(({ text }) => text.includes("timingSafeEqual"));
  expect(naked.map(({ path }) => path)).toEqual([helper]);
  const ours = files.filter(({ path }) => path.startsWith("control-plane/"));
  const lines = ours.flatMap(({ path, text }) =>
    text
      .split("\n")
      .filter((line) => compared.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(lines).toEqual([]);
  for (const line of [
    "if (token === expected)",
    "a.verification_code !== b",
    "given === releaseSecret",
  ])
    expect(compared.test(line)).toBe(true);
});
