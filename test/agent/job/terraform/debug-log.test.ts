import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { masked } from "../../../../agent/job/terraform/debug-log.ts";
import { redactorOf } from "../../../../agent/logs/redactor.ts";

const folder = mkdtempSync(join(tmpdir(), "debug-log-"));
afterAll(() => rmSync(folder, { recursive: true }));

const secret = "PLANTED-secret-of-the-debug-log";
const most = 1024 * 1024;

function read(text: string, limit = most, secrets = [secret]): { text: string; largest: number } {
  const path = join(folder, "log");
  writeFileSync(path, text);
  const file = openSync(path, "r");
  const pieces = [...masked(file, limit, redactorOf(secrets))];
  closeSync(file);
  return {
    text: Buffer.concat(pieces).toString(),
    largest: Math.max(0, ...pieces.map(({ length }) => length)),
  };
}

describe("a debug log that is sent", () => {
  test("has no secret, wherever the pieces of the file begin and end", () => {
    for (const before of [0, 65_500, 65_520, 65_535, 65_536, 131_060]) {
      const around = ["x".repeat(before), "y".repeat(70_000)];
      const { text, largest } = read(around.join(`[${secret}]`));
      expect({ before, same: text === around.join("[***]") }).toEqual({ before, same: true });
      expect(largest).toBeLessThan(80_000);
    }
  });

  test("keeps characters whole, and is empty where nothing was written", () => {
    const text = "€uro 🚀 ".repeat(20_000);
    expect(read(text).text === text).toBe(true);
    expect(read("").text).toBe("");
  });

  test("ends at its bound and says so, without the beginning of a secret", () => {
    const said = "\n[windlass] The debug log ends here: it is over 1000 bytes";
    for (const inside of [1, 10, secret.length - 1]) {
      const before = "x".repeat(1000 - inside);
      const { text } = read(`${before}${secret} and more`, 1000);
      expect(text.split(said)).toEqual([before, expect.stringContaining("_LIMIT_MIB")]);
    }
    expect(read("x".repeat(1000), 1000).text).toBe("x".repeat(1000));
  });

  test("has no secret that is longer than a piece", () => {
    const long = Array.from({ length: 20_000 }, (_, index) => `k${index}`).join("-");
    const { text } = read(`a ${long} b ${"z".repeat(300_000)}`, most, [long]);
    // A large text is masked part by part.
    expect(text.replace(/\*+/, "***") === `a *** b ${"z".repeat(300_000)}`).toBe(true);
  });
});
