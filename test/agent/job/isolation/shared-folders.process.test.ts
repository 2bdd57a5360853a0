import { chownSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { randomBytes, randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { removeShared } from "../../../../agent/job/isolation/shared-folders.ts";

const asUser = (user: number, command: readonly string[]): readonly string[] => [
  "setpriv",
  `--reuid=${user}`,
  `--regid=${user}`,
  "--clear-groups",
  "--",
  ...command,
];

test("removeShared removes files whose names are not UTF-8, and no other user's", async ({
  skip,
}) => {
  if (process.getuid?.() !== 0) return skip("only root may give files to other users");
  const user = randomInt(2_000_000_000, 2_100_000_000);
  const place = `/tmp/windlass-${randomBytes(6).toString("hex")}-`;
  const left = Buffer.concat([Buffer.from(place), Buffer.from([0xff, 0xfe])]);
  const other = `${place}other`;
  try {
    for (const path of [left, other]) writeFileSync(path, "");
    chownSync(left, user, user);
    chownSync(other, user + 1, user + 1);
    await removeShared(user, process.env["PATH"] ?? "", asUser);
    expect(existsSync(left)).toBe(false);
    expect(existsSync(other)).toBe(true);
  } finally {
    for (const path of [left, other]) rmSync(path, { force: true });
  }
});
