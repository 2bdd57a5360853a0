import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { masked } from "../../../../agent/job/terraform/debug-log.ts";
import { redactorOf } from "../../../../common/redaction/redactor.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const folder = folderForFile();

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

describe("a masked debug log", () => {
  test("has no secret, wherever the file is cut into pieces", () => {
    for (const before of [0, 65_500, 65_520, 65_535, 65_536, 131_060]) {
      const around = ["x".repeat(before), "y".repeat(70_000)];
      const { text, largest } = read(around.join(`[${secret}]`));
      expect({ before, same: text === around.join("[***]") }).toEqual({ before, same: true });
      expect(largest).toBeLessThan(80_000);
    }
  });

  test("keeps characters whole, and is empty for an empty file", () => {
    const text = "€uro 🚀 ".repeat(20_000);
    expect(read(text).text === text).toBe(true);
    expect(read("").text).toBe("");
  });

  test("ends at its limit with a notice, without the start of a secret", () => {
    const notice = "\n[windlass] The debug log ends here: it is larger than 1000 bytes.\n";
    for (const inside of [1, 10, secret.length - 1]) {
      const before = "x".repeat(1000 - inside);
      const { text } = read(`${before}${secret} and more`, 1000);
      expect(text.split(notice)).toEqual([before, ""]);
    }
    expect(read("x".repeat(1000), 1000).text).toBe("x".repeat(1000));
  });

  test("has no secret, even if it is longer than a piece", () => {
    const long = Array.from({ length: 20_000 }, (_, index) => `k${index}`).join("-");
    const { text } = read(`a ${long} b ${"z".repeat(300_000)}`, most, [long]);
    // A large secret is masked part by part.
    expect(text.replace(/\*+/, "***") === `a *** b ${"z".repeat(300_000)}`).toBe(true);
  });
});
