/** Plans and outputs that are too large to be read in the agent's own process. */
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { StepFailedError } from "../../agent/job/context.ts";
import { readOutputsApart, readPlanApart } from "../../agent/job/plan/read-apart.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const folder = folderForFile();
const mebibyte = 1024 * 1024;
const running = new AbortController().signal;

/** `before`, then this many MiB of `unit` between `ends`, by default a string, then `after`. */
function fileWith(
  name: string,
  before: string,
  mebibytes: number,
  after: string,
  unit = "x",
  ends = ['"', '"'],
): string {
  const file = join(folder, name);
  writeFileSync(file, `${before}${ends[0]}`);
  for (let part = 0; part < mebibytes; part++)
    appendFileSync(file, unit.repeat(mebibyte / unit.length));
  appendFileSync(file, `${ends[1]}${after}`);
  return file;
}

describe("readPlanApart", () => {
  const change = (address: string, more: object) =>
    JSON.stringify({ address, change: { actions: ["create"], ...more } });

  test("reads a plan of many megabytes and masks secrets in names", async () => {
    const file = join(folder, "large.json");
    const resources = Array.from({ length: 3000 }, (_, index) =>
      change(`x.secret-name[${index}]`, { after: "y".repeat(1000) }),
    );
    writeFileSync(file, `{"errored":false,"resource_changes":[${resources.join(",")}]}`);
    const { errored, summary } = await readPlanApart(file, ["secret-name"], running);
    expect(errored).toBe(false);
    expect(summary.counts.create).toBe(3000);
    expect(JSON.stringify(summary)).not.toContain("secret-name");
    expect(JSON.stringify(summary)).toContain("x.***[0]");
  });

  // A thread's limit does not hold for a single allocation: the last two ended the whole process.
  test.each([
    ["a text of 200 MiB", 200, "x", ['"', '"']],
    ["a list of 10 million numbers", 20, ",1", ["[1", "]"]],
    ["a number of 80 million digits", 80, "1", ["1", ""]],
  ])("fails the job, not the agent, for %s", async (_, mebibytes, unit, ends) => {
    const file = fileWith(
      "huge.json",
      '{"resource_changes":[{"address":"x.y","change":{"actions":["create"],"after":',
      mebibytes,
      "}}]}",
      unit,
      ends,
    );
    const reading = readPlanApart(file, [], running);
    await expect(reading).rejects.toThrow(StepFailedError);
    await expect(reading).rejects.toThrow(/^plan: cannot be read: .*does not fit into 128 MiB/);
  });

  test("fails when the job is stopped", async () => {
    const file = fileWith("stopped.json", '{"resource_changes":[', 50, "]}");
    await expect(readPlanApart(file, [], AbortSignal.abort())).rejects.toThrow(StepFailedError);
  });
});

describe("readOutputsApart", () => {
  test("replaces an output of 28 MiB by its size", async () => {
    const file = fileWith(
      "outputs.json",
      '{"small":{"sensitive":false,"type":"string","value":"s"},"big":{"sensitive":false,"type":"string","value":',
      28,
      "}}",
    );
    const { metadata } = await readOutputsApart(file, ["the-secret"]);
    expect(metadata.outputs).toEqual({
      small: { type: "string", sensitive: false, value: "s" },
      big: { type: "string", sensitive: false, omitted_bytes: 28 * mebibyte + 2 },
    });
  });

  test("returns no secret for a sensitive output of 20 MiB", async () => {
    const file = fileWith(
      "secret.json",
      '{"big":{"sensitive":true,"type":"string","value":',
      20,
      "}}",
    );
    expect((await readOutputsApart(file, ["the-secret"])).secrets).toEqual([]);
  });

  test("fails the job, not the agent, for outputs that do not fit into the memory limit", async () => {
    const before = '{"big":{"sensitive":false,"value":';
    const file = fileWith("list.json", before, 30, "}}", ",1", ["[1", "]"]);
    await expect(readOutputsApart(file, [])).rejects.toThrow(/does not fit into 128 MiB/);
  });

  test("refuses outputs above the limit", async () => {
    const file = fileWith(
      "over.json",
      '{"big":{"sensitive":false,"type":"string","value":',
      33,
      "}}",
    );
    await expect(readOutputsApart(file, ["the-secret"])).rejects.toThrow(
      /the outputs have \d+ bytes, more than/,
    );
  });
});
