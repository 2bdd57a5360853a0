import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { equalSecrets } from "../../../control-plane/domain/tokens.ts";
import { sourceFiles } from "../../helpers/source-files.ts";

it("equal secrets are equal, whatever else differs is not, and lengths may differ", () => {
  expect(equalSecrets("secret", "secret")).toBe(true);
  for (const other of ["", "secres", "secret ", "Secret", "secre", "s\u00e9cret"])
    expect(equalSecrets("secret", other)).toBe(false);
});

/** A secret's name beside an equals sign, on either side; to ask whether there is one is no comparison, nor is a hash a secret. */
const name = String.raw`(?<!typeof )\b\w*(?:[tT]oken|[sS]ecret|[pP]assword|verification_code|[gG]uess)\b`;
const compared = new RegExp(
  `${name}\\s*[!=]==(?!\\s*(?:undefined|null|"|TokenType))|[!=]==\\s*${name}(?!\\.)`,
);

it("the control plane compares secrets through equalSecrets alone", () => {
  const root = join(import.meta.dirname, "../../..");
  const files = sourceFiles()
    .filter(({ path }) => path.startsWith("control-plane/"))
    .map(({ path }) => ({ path, text: readFileSync(join(root, path), "utf8") }));
  const helper = "control-plane/domain/tokens.ts";
  const naked = files.filter(({ text }) => text.includes("timingSafeEqual"));
  expect(naked.map(({ path }) => path)).toEqual([helper]);
  const lines = files.flatMap(({ path, text }) =>
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
