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

/** `before`, then a string of this many MiB, then `after`. */
function fileWith(name: string, before: string, mebibytes: number, after: string): string {
  const file = join(folder, name);
  writeFileSync(file, `${before}"`);
  for (let part = 0; part < mebibytes; part++) appendFileSync(file, Buffer.alloc(mebibyte, "x"));
  appendFileSync(file, `"${after}`);
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

  test("fails the job when a value does not fit into the memory limit", async () => {
    const file = fileWith(
      "huge.json",
      '{"resource_changes":[{"address":"x.y","change":{"actions":["create"],"after":',
      200,
      "}}]}",
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
