import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redactorOf } from "../../../common/redaction/redactor.ts";
import { heapInUse } from "../../helpers/machine/heap.ts";
import { proving } from "../../helpers/project/proving.ts";

/**
 * Cuts bytes that grow by the given steps, in pieces of at most `most` bytes. `pauses`: after which
 * steps what is held back is released.
 */
function inPieces(
  whole: Buffer,
  secrets: readonly string[],
  steps: readonly number[],
  most: number,
  pauses: readonly boolean[] = [false],
) {
  const redactor = redactorOf(secrets);
  const pieces: string[] = [];
  let position = 0;
  let carry = 0;
  let released = 0;
  let size = 0;
  for (let step = 0; size < whole.length || step === 0; step++) {
    size = Math.min(whole.length, size + (steps[step % steps.length] ?? 1));
    const final = size === whole.length;
    let release = false;
    for (;;) {
      const start = position - released;
      const bytes = whole.subarray(start, Math.min(size, position + most + redactor.lookahead));
      const isLast = final && start + bytes.length === whole.length;
      const before = { skip: carry, context: released };
      const cut = redactor.cut(bytes, most, { final: isLast, release, ...before });
      if (cut.length === 0) {
        if (release || pauses[step % pauses.length] === false) break;
        release = true;
        continue;
      }
      // After a crash, the text is computed again from the recorded cut.
      const seen = bytes.subarray(0, released + cut.length);
      const again = redactor.redact(seen, { ...before, tail: cut.tail });
      if (again !== cut.text) throw new Error(`${again} was ${cut.text}`);
      pieces.push(cut.text);
      position += cut.length;
      ({ carry, released } = cut);
    }
  }
  expect(position).toBe(whole.length);
  return pieces;
}

const redact = (text: string, ...secrets: string[]): string =>
  redactorOf(secrets).redact(Buffer.from(text));

describe("masking", () => {
  test("replaces every encoding of a secret", () => {
    const secret = 'pa"ss<w>örd & more/+=?';
    const json = JSON.stringify({ a: secret });
    expect(redact(`a ${secret} b`, secret)).toBe("a *** b");
    expect(redact(json, secret)).toBe('{"a":"***"}');
    expect(
      redact(
        json.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026"),
        secret,
      ),
    ).toBe('{"a":"***"}');
    expect(redact(`?x=${encodeURIComponent(secret)}&`, secret)).toBe("?x=***&");
    expect(redact(`?${new URLSearchParams({ x: secret }).toString()}&`, secret)).toBe("?x=***&");
    const xml = "it&#39;s &#34;a&lt;b&gt; &amp; c";
    const named = xml.replace("&#39;", "&apos;").replace("&#34;", "&quot;");
    const unquoted = xml.replace("&#39;", "'").replace("&#34;", '"');
    for (const form of [xml, named, unquoted])
      expect(redact(`<p>${form}</p>`, "it's \"a<b> & c")).toBe("<p>***</p>");
    for (const before of ["", "u", "us", "use", "user"]) {
      for (const after of ["", "1", "12"]) {
        for (const encoding of ["base64", "base64url"] as const) {
          const masked = redact(
            Buffer.from(`${before}${secret}${after}`).toString(encoding),
            secret,
          );
          expect(masked).toContain("***");
          // Only characters that depend on the neighbours remain, at most two on each side.
          expect(masked.replace("***", "").length).toBeLessThanOrEqual(
            Math.ceil((before.length * 4) / 3) + 8,
          );
        }
      }
    }
  });

  test("masks overlapping secrets as one and adjacent secrets one by one", () => {
    expect(redact("x abcdefghi y", "abcdef", "defghi")).toBe("x *** y");
    expect(redact("x abcdefghijkl y", "abcdef", "ghijkl")).toBe("x ****** y");
    expect(redact("aaaaaaaaaa", "aaaaaa")).toBe("***");
    expect(redact("abababab", "ababab")).toBe("***");
  });

  test("ignores values shorter than six bytes", () => {
    expect(redact("the admin is true", "admin", "true", "")).toBe("the admin is true");
    expect(redact("ää and äää", "äää")).toBe("ää and ***");
  });

  test("finds a secret without its last newline, and indented key material", () => {
    expect(redact("token=s3cr3t-token.", "s3cr3t-token\n")).toBe("token=***.");
    const key =
      "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAAAAAAAAAAAAAAAA\n-----END KEY-----\n";
    expect(redact(key.replaceAll(/^/gm, "  | "), key)).toBe("  | ***\n  | ");
    const lines = key.trim().split("\n").toReversed().join("\n");
    expect(redact(lines, key)).toBe("***\n***\n***\n***");
  });

  test("finds the short lines of a multi-line secret", () => {
    const settings = "user=ada\npassword=x1y2z3\nok\n";
    expect(redact("password=x1y2z3 for user=ada, ok", settings)).toBe("*** for ***, ok");
  });

  test("finds a secret with blanks that terraform wrapped, with and without colours", () => {
    const secret = "correct horse  battery staple";
    // As terraform 1.11.4 wraps an error at column 78.
    for (const margin of [
      "\n\u001b[31m│\u001b[0m \u001b[0m",
      "\n\u001b[38;5;9m│\u001b[0m \u001b[0m",
      "\n│ ",
      "\r\n        ",
    ]) {
      for (const at of secret.matchAll(/ +/g)) {
        const wrapped = secret.slice(0, at.index) + margin + secret.slice(at.index + at[0].length);
        expect(redact(`refused: ${wrapped} is wrong`, secret)).toBe("refused: *** is wrong");
        expect(redact(`refused: ${wrapped.slice(0, -1)} is wrong`, secret)).not.toContain("***");
      }
    }
    expect(redact("correct\n\n  horse\tbattery  staple", secret)).toBe("***");
  });

  test("finds hex in upper and lower case, also across a line break", () => {
    const secret = "s3cr3t-token-of-the-database";
    const hex = Buffer.from(secret).toString("hex");
    expect(redact(`<${hex}>`, secret)).toBe("<***>");
    expect(redact(`<${hex.toUpperCase()}>`, secret)).toBe("<***>");
    expect(redact(`<${hex.replace(/(?<=^.{30})/, "\n")}>`, secret)).toBe("<***>");
  });

  test("takes less than 16 MiB for a secret of one megabyte in short lines", () => {
    const line = (index: number) => `${(index * 2_654_435_761) % 4_294_967_296} some text`;
    const secret = Array.from({ length: 50_000 }, (_, index) => line(index)).join("\n");
    const before = heapInUse();
    const redactor = redactorOf([secret]);
    expect(heapInUse() - before).toBeLessThan(16 * 1024 * 1024);
    const shown = Array.from({ length: 2000 }, (_, index) => `${index}: ${line(index * 7 + 1)}\n`);
    expect(redactor.redact(Buffer.from(shown.join("")))).toBe(
      shown.map((_, index) => `${index}: ***\n`).join(""),
    );
  });

  test("needs no more lookahead for a secret of one megabyte than for one of four kilobytes", () => {
    const text = (words: number) =>
      Array.from({ length: words }, (_, i) => `${i} some words`).join(",");
    const secret = text(20_000);
    expect(redactorOf([secret]).lookahead).toBeLessThanOrEqual(redactorOf([text(500)]).lookahead);
    expect(redactorOf([secret]).lookahead).toBeLessThan(16 * 1024);
    expect(redact(`<${secret}>`, secret).replaceAll("*", "")).toBe("<>");
  });

  test("finds base64 across line breaks, indented, or quoted in an error of terraform", () => {
    const secret = "s3cr3t-token-of-the-database-0123456789-abcdefghijklmnopqrstuvwxyz";
    for (const before of ["", "u", "us", "the user and the "]) {
      const base64 = Buffer.from(`${before}${secret} and more`).toString("base64");
      for (const [width, margin] of [
        [76, "\n"],
        [64, "\r\n"],
        [20, "\n        "],
        [16, "\n│ "],
        [16, "\n \t|  "],
      ] as const) {
        const lines = base64.match(new RegExp(`.{1,${width}}`, "g")) ?? [];
        const left = redact(lines.join(margin), secret)
          .replaceAll(/[\s│|]/g, "")
          .split("***");
        expect(left).toHaveLength(2);
        // Only the surrounding text and characters that depend on it remain.
        expect(left[0]!.length).toBeLessThanOrEqual(Math.ceil((before.length * 4) / 3));
        expect(left[1]!.length).toBeLessThanOrEqual(Math.ceil((9 * 4) / 3) + 3);
      }
      expect(redact(base64.replace(/(?<=^.{40})/, "\n\n"), secret)).not.toContain("***");
    }
  });

  test("finds no secret that is spread over lines of a few characters", () => {
    const lines = (width: number) =>
      Buffer.from("s3cr3t-token-of-the-database")
        .toString("base64")
        .replaceAll(new RegExp(`.{${width}}`, "g"), `$&\n${" ".repeat(48)}`);
    expect(redact(lines(16), "s3cr3t-token-of-the-database")).toContain("***");
    expect(redact(lines(4), "s3cr3t-token-of-the-database")).not.toContain("***");
  });

  test("needs one byte after a cut without secrets, and all but one of the longest form with them", () => {
    expect(redactorOf([]).lookahead).toBe(1);
    expect(redactorOf(["no-blank"]).lookahead).toBe(66 - 1);
  });

  test("replaces bytes that are not UTF-8 by U+FFFD and leaves other bytes unchanged", () => {
    const odd = Buffer.from("\u001b[31mred\u001b[0m one\rtwo\0\ufeff🚀\n");
    expect(redactorOf([]).redact(odd)).toBe(odd.toString());
    expect(redactorOf([]).redact(Buffer.from([0x61, 0xff, 0xfe, 0x62]))).toBe("a\ufffd\ufffdb");
  });
});

describe("a safe cut", () => {
  test("never splits a character, wherever the bytes end", () => {
    const whole = Buffer.from("aä€🚀é");
    for (let end = 0; end <= whole.length; end++) {
      const redactor = redactorOf([]);
      const { length } = redactor.cut(whole.subarray(0, end), 1000, { final: false });
      expect(whole.toString("utf8", 0, length) + whole.toString("utf8", length)).toBe("aä€🚀é");
      expect(end - length).toBeLessThan(4);
      expect(redactor.cut(whole.subarray(0, end), 1000, { final: true }).length).toBe(end);
    }
  });

  test.each([
    ["61 80", 2],
    ["80 80 80 80", 4],
    ["61 c0", 1],
    ["61 df", 1],
    ["61 df 80", 3],
    ["61 df bf", 3],
    ["61 e0", 1],
    ["61 e0 80", 1],
    ["61 e0 80 80", 4],
    ["61 ef bf", 1],
    ["61 f0 80 80", 1],
    ["61 f0 80 80 80", 5],
    ["61 f7 80 80", 1],
    // No lead bytes.
    ["61 f8 80 80", 4],
    ["61 ff", 2],
  ])("of the bytes %s is after %i", (hex, length) => {
    const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
    expect(redactorOf([]).cut(bytes, 1000, { final: false }).length).toBe(length);
  });

  test("holds back only a possible start of a secret", () => {
    const redactor = redactorOf(["secret-value"]);
    const cut = (text: string): string =>
      text.slice(0, redactor.cut(Buffer.from(text), 1000, { final: false }).length);
    expect(cut("hello secret-val")).toBe("hello ");
    expect(cut("hello secret-vol")).toBe("hello secret-vol");
    expect(cut("hello secret-value")).toBe("hello secret-value");
  });

  test("releases fewer than six bytes of a secret, and masks its rest when it goes on", () => {
    const secret = "s3cr3t-token";
    const whole = Buffer.from(`<${secret}>`);
    const shownBefore = (pause: number): string =>
      inPieces(whole, [secret], [pause + 1, whole.length], 100, [true]).join("");
    for (let shown = 0; shown < 6; shown++)
      expect(shownBefore(shown)).toBe(`<${secret.slice(0, shown)}***>`);
    for (let held = 6; held <= secret.length; held++) expect(shownBefore(held)).toBe("<***>");
    expect(inPieces(whole, [secret], [1], 100, [true]).join("")).toBe("<s3cr3***>");
    // Its parts are of no secret if it does not go on.
    const other = Buffer.from("<s3cr3t-tokes3cr>");
    expect(inPieces(other, [secret], [1], 100, [true]).join("")).toBe(other.toString());
  });

  test("releases bytes of a secret in base64 over lines, and of one that terraform wrapped", () => {
    const secret = "correct horse battery staple";
    const base64 = Buffer.from(secret).toString("base64").replace(/.=*$/, "");
    const wrapped = secret.replaceAll(" ", "\n\u001b[31m│\u001b[0m \u001b[0m");
    for (const form of [base64.replaceAll(/.{16}/g, "$&\n"), wrapped]) {
      const whole = Buffer.from(`<${form}>`);
      expect(inPieces(whole, [secret], [1], 100, [true]).join("")).toBe(`<${form.slice(0, 5)}***>`);
    }
  });

  test("is at the end of a line in a long text", () => {
    const lines = Buffer.from("0123456789 0123456789\n".repeat(3000));
    const { length } = redactorOf([]).cut(lines, 32 * 1024, { final: false });
    expect(length).toBeGreaterThan(16 * 1024);
    expect(lines[length - 1]).toBe(0x0a);
  });

  test.each([
    // A newline counts if it is in the second half of 16 KiB or more.
    [16_384, [12_000], 0, 12_001],
    [16_384, [9000, 12_000, 16_384], 0, 12_001],
    [16_384, [8192], 0, 8193],
    [16_384, [8191], 0, 16_384],
    [16_384, [], 0, 16_384],
    [16_383, [12_000], 0, 16_383],
    [16_383, [12_000], 100, 16_383],
    [16_384, [9000], 1000, 16_384],
    [16_384, [9700], 1000, 8701],
    [40_000, [30_000], 0, 30_001],
    [40_001, [30_000], 0, 40_000],
  ])(
    "within %i bytes, with newlines at %j and %i bytes of context, is after %i",
    (limit, newlines, context, expected) => {
      const bytes = Buffer.alloc(40_000 + (limit > 40_000 ? 0 : context + 1), "x");
      for (const at of newlines) bytes[at] = 0x0a;
      const { length } = redactorOf([]).cut(bytes, limit, { final: true, context });
      expect(length).toBe(expected);
    },
  );

  test.each([
    // Right before, in and right behind a secret.
    [2, { length: 2, tail: 0, carry: 0, text: "x " }],
    [5, { length: 5, tail: 3, carry: 9, text: "x ***" }],
    [14, { length: 14, tail: 0, carry: 0, text: "x ***" }],
    [15, { length: 15, tail: 0, carry: 0, text: "x *** " }],
  ])("at %i tells how much of a secret is on each side", (limit, expected) => {
    const cut = redactorOf(["secret-value"]).cut(Buffer.from("x secret-value y"), limit, {
      final: false,
    });
    expect(cut).toEqual({ ...expected, released: 0 });
  });

  test("in a long masked region yields one mask", () => {
    const whole = Buffer.from(`x${"a".repeat(1000)}y`);
    const pieces = inPieces(whole, ["aaaaaa"], [1000], 64);
    expect(pieces.join("")).toBe("x***y");
    expect(pieces.length).toBeGreaterThan(10);
  });
});

describe("with any output, secrets, growth and piece size", () => {
  /** Few letters, so that secrets overlap each other, themselves and the cuts often. */
  const letters = fc.constantFrom("a", "b", "aa", "ab", "é", "€", "🚀", "\n", " ", '"', "/", "%");
  const word = (minLength: number, maxLength: number) =>
    fc.array(letters, { minLength, maxLength }).map((parts) => parts.join(""));
  /** Base64 in one line, or in lines of some width with some margin. */
  const breaks = fc
    .tuple(fc.integer({ min: 16, max: 30 }), fc.constantFrom("", "\n", "\r\n", "\n  ", "\n│ "))
    .map(([width, margin]) => (base64: string) => {
      const lines = base64.match(new RegExp(`.{1,${width}}`, "g")) ?? [];
      return lines.join(margin);
    });
  const part = (secrets: readonly string[]) =>
    fc.oneof(
      { weight: 3, arbitrary: word(0, 6).map((text) => Buffer.from(text)) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)) },
      ...(secrets.length === 0
        ? []
        : [
            {
              weight: 3,
              arbitrary: fc
                .tuple(fc.constantFrom(...secrets), fc.nat(3), fc.nat(20))
                .map(([secret, form, end]) =>
                  Buffer.from(
                    [
                      secret,
                      JSON.stringify(secret),
                      encodeURIComponent(secret),
                      secret.slice(0, end),
                    ][form] ?? secret,
                  ),
                ),
            },
            {
              weight: 1,
              arbitrary: fc
                .tuple(fc.constantFrom(...secrets), word(0, 3), fc.boolean(), breaks)
                .map(([secret, before, url, broken]) => {
                  const base64 = Buffer.from(before + secret).toString(
                    url ? "base64url" : "base64",
                  );
                  return Buffer.from(broken(base64));
                }),
            },
            {
              weight: 1,
              arbitrary: fc
                .tuple(fc.constantFrom(...secrets), fc.boolean(), breaks)
                .map(([secret, isHex, broken]) =>
                  Buffer.from(
                    isHex
                      ? broken(Buffer.from(secret).toString("hex"))
                      : secret.replaceAll(/\s+/g, "\n\u001b[31m│\u001b[0m \u001b[0m"),
                  ),
                ),
            },
          ]),
    );
  const cases = fc.array(word(2, 10), { maxLength: 4 }).chain((secrets) =>
    fc.record({
      secrets: fc.constant(secrets),
      whole: fc.array(part(secrets), { maxLength: 12 }).map((parts) => Buffer.concat(parts)),
      steps: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      pauses: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
      most: fc.integer({ min: 4, max: 40 }),
    }),
  );
  // Few and the same for each mutant of `npm run prove:mutants`.
  const runs =
    "STRYKER_MUTATOR_WORKER" in process.env
      ? { numRuns: 100, seed: 1 }
      : { numRuns: proving ? 1_000_000 : 500 };

  test("the joined pieces equal the masked whole", () => {
    fc.assert(
      fc.property(cases, ({ secrets, whole, steps, most }) => {
        const pieces = inPieces(whole, secrets, steps, most);
        expect(pieces.join("")).toBe(redactorOf(secrets).redact(whole));
      }),
      runs,
    );
  });

  test("no secret of six bytes or more is visible", () => {
    const masked = /\*/;
    fc.assert(
      fc.property(cases, ({ secrets, whole, steps, most, pauses }) => {
        const text = inPieces(whole, secrets, steps, most, pauses).join("");
        for (const secret of secrets) {
          if (Buffer.byteLength(secret) < 6 || masked.test(secret)) continue;
          expect(text.includes(secret)).toBe(false);
          // The character before the padding has less than six bits of the secret.
          const base64 = Buffer.from(secret).toString("base64").replace(/.=+$/, "");
          expect(text.replaceAll(/[\s│|]/g, "").includes(base64)).toBe(false);
        }
      }),
      runs,
    );
  });
});
