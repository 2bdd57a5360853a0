import { describe, expect, test } from "vitest";
import { redactorOf } from "../../../common/redaction/redactor.ts";
import { secrecyOf } from "../../../common/redaction/secrecy.ts";
import { formsOf, withinLimit } from "../../../common/redaction/secret-forms.ts";
import { kibibyte } from "../../../common/units.ts";

/** Without the rare ones. */
const formsIn = (kind: "plain" | "encoded" | "spaced", ...secrets: string[]): string[] =>
  Array.from(formsOf(secrets, 0)[kind](), String);
const plain = (secret: string) => [...new Set(formsIn("plain", secret))];
const redact = (text: string, secret: string) => redactorOf([secret]).redact(Buffer.from(text));

test.each([
  ["secret", ["secret"]],
  [" secret\n", [" secret\n", " secret\\n", "%20secret%0A", "+secret%0A", "secret"]],
  ["five5", []],
  ["five5\n", ["five5\n", "five5\\n", "five5%0A"]],
  ["(a'b)*!", ["(a'b)*!", "%28a%27b%29%2A%21", "(a&apos;b)*!", "(a&#39;b)*!"]],
  [
    "<a&b>\u2028",
    [
      "<a&b>\u2028",
      "\\u003ca\\u0026b\\u003e\\u2028",
      "%3Ca%26b%3E%E2%80%A8",
      "&lt;a&amp;b&gt;\u2028",
    ],
  ],
  // Its lines of six bytes or more, without the blanks around them.
  [
    "one\n  second  \nthird",
    [
      "one\n  second  \nthird",
      "one\\n  second  \\nthird",
      "one%0A%20%20second%20%20%0Athird",
      "one%0A++second++%0Athird",
      "second",
    ],
  ],
])("the forms of %j are %j", (secret, forms) => {
  expect(plain(secret)).toEqual(forms);
});

test.each([
  ["composed", "passwörd".normalize("NFC")],
  ["decomposed", "passwörd".normalize("NFD")],
])("a secret that is %s is masked in both forms of Unicode and as JSON in ASCII", (_, secret) => {
  for (const form of ["NFC", "NFD"] as const) {
    const text = secret.normalize(form);
    const hex = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    const ascii = text.replaceAll(/[^ -~]/g, hex);
    const upper = ascii.replaceAll(/[\da-f]{4}/g, (digits) => digits.toUpperCase());
    for (const said of [text, ascii, upper, ascii.replaceAll("\\", "\\\\")])
      expect(redact(`<${said}>`, secret)).toBe("<***>");
  }
});

test("a secret is masked as JSON in a text of JSON, and with lower-case percent", () => {
  const secret = 'p"ss\\ <wörd>';
  const inner = JSON.stringify(secret);
  const go = inner.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e");
  for (const json of [inner, go])
    expect(redact(JSON.stringify({ policy: json }), secret)).toBe('{"policy":"\\"***\\""}');
  const url = encodeURIComponent(secret).replaceAll(/%../g, (byte) => byte.toLowerCase());
  expect(redact(`?a=${url}&b`, secret)).toBe("?a=***&b");
});

test("rare forms are searched in the first 256 KiB of all secrets", () => {
  const masked = (before: number) => {
    const others = Array.from({ length: before }, (_, index) => `${index}`.repeat(50 * kibibyte));
    return redactorOf([...others, "passwörd"]).redact(Buffer.from("passw\\u00f6rd"));
  };
  expect([masked(5), masked(6)]).toEqual(["***", "passw\\u00f6rd"]);
});

test("only forms with a blank or a line break are searched with single blanks", () => {
  expect(formsIn("spaced", "no-blank")).toEqual([]);
  expect(new Set(formsIn("spaced", "a  blank\n here"))).toEqual(
    new Set(["a blank", "a blank here", "a blank\\n here"]),
  );
});

test("base64 is searched in three forms and two alphabets, and hex in two cases", () => {
  expect(new Set(formsIn("encoded", "???>>>~"))).toEqual(
    new Set([
      "Pz8/Pj4+f",
      "Pz8_Pj4-f",
      "8/Pz4+Pn",
      "8_Pz4-Pn",
      "/Pz8+Pj5+",
      "_Pz8-Pj5-",
      "3f3f3f3e3e3e7e",
      "3F3F3F3E3E3E7E",
    ]),
  );
});

describe("a long secret", () => {
  const letters = (length: number) =>
    Array.from({ length }, (_, index) => String.fromCodePoint(0x4e00 + index)).join("");

  test.each([
    [1024, [[0, 1024]]],
    [
      1025,
      [
        [0, 1024],
        [1, 1025],
      ],
    ],
    [
      2048,
      [
        [0, 1024],
        [1024, 2048],
      ],
    ],
    [
      2500,
      [
        [0, 1024],
        [1024, 2048],
        [1476, 2500],
      ],
    ],
  ] as const)("of %i characters is searched in the pieces %j", (length, pieces) => {
    const secret = letters(length);
    const found = new Set(formsIn("plain", secret).filter((form) => !form.includes("%")));
    expect(found).toEqual(new Set(pieces.map(([start, end]) => secret.slice(start, end))));
  });

  test.each([1022, 1023, 1024, 1025])("is not cut in a character at %i", (at) => {
    const secret = `${letters(at)}🚀${letters(1500)}`;
    const found = formsIn("plain", secret).filter((form) => !form.includes("%"));
    for (const piece of found) expect(piece.isWellFormed()).toBe(true);
    expect(redact(`<${secret}>`, secret).replaceAll("*", "")).toBe("<>");
  });

  test("of more than 64 KiB is searched as it is and as JSON, and by its lines as they are", () => {
    const line = 'with "quotes" and ???';
    const secretOf = (length: number) => `${line}\n`.padEnd(length, "x");
    for (const [length, isLarge] of [
      [64 * kibibyte, false],
      [64 * kibibyte + 1, true],
    ] as const) {
      const secret = secretOf(length);
      const forms = new Set(formsIn("plain", secret));
      expect(forms.has(line)).toBe(true);
      expect(forms.has(encodeURIComponent(line))).toBe(!isLarge);
      expect(forms.has(JSON.stringify(`${line}\n`.padEnd(1024, "x")).slice(1, -1))).toBe(true);
      const encoded = formsIn("encoded", secret);
      expect(encoded.includes(Buffer.from(line).toString("hex"))).toBe(!isLarge);
      expect(encoded.some((form) => form.includes("_"))).toBe(!isLarge);
    }
  });

  test("of more than 10,000 lines is searched by its lines of 16 bytes or more", () => {
    const secretOf = (lines: number) =>
      ["fifteen letters", "sixteen letters!", ...Array.from({ length: lines - 2 }, () => "x")].join(
        "\n",
      );
    const has = (lines: number, line: string) => formsIn("plain", secretOf(lines)).includes(line);
    expect([has(10_000, "fifteen letters"), has(10_001, "fifteen letters")]).toEqual([true, false]);
    expect(has(10_001, "sixteen letters!")).toBe(true);
  });
});

test("secrets are searched up to 10,000 lines, an eighth of those of large ones", () => {
  const lines = (count: number) => "x\n".repeat(count - 1);
  const large = (count: number) => `${"x".repeat(8)}\n`.repeat(count - 1);
  expect(withinLimit([lines(9999), "a", "b"])).toEqual([lines(9999), "a"]);
  expect(withinLimit([large(79_992), "a", "b"])).toEqual([large(79_992), "a"]);
  const notLarge = "x".repeat(64 * kibibyte - lines(10_000).length) + lines(10_000);
  expect(withinLimit([notLarge, "a"])).toEqual([notLarge]);
});

test("secrecy masks texts, and finds secrets in the texts, names and numbers of a value", () => {
  const { mask, hides } = secrecyOf(["two\nlines", "482913"]);
  expect(mask("in two\nlines.")).toBe("in ***.");
  for (const value of [
    "two\nlines",
    { a: ["b", "so: two\nlines"] },
    { n: 482913 },
    { "482913": 1 },
  ])
    expect(hides(value)).toBe(true);
  for (const value of ["two", { a: ["lines"] }, 48291, undefined]) expect(hides(value)).toBe(false);
});
