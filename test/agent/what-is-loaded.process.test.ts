/** Which modules an idle agent has loaded. Each of these takes megabytes of its memory. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "../helpers/source-files.ts";

/** Needed by some jobs only, and loaded when one of them runs. */
const later = ["typebox", "@aws-sdk", "openpgp", "tar", "yauzl", "execa", "commander", "ajv"];

test("an idle agent has loaded neither schemas nor modules that only some jobs need", async () => {
  const script = `
    import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) { console.log(url); return next(url, context); } });
    await import(${JSON.stringify(join(root, "agent/runner.ts"))});
    await import(${JSON.stringify(join(root, "agent/main.ts"))});`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", script],
    { env: { PATH: process.env["PATH"] }, maxBuffer: 10_000_000 },
  );
  const loaded = stdout.split("\n");
  expect(loaded.some((url) => url.endsWith("/agent/job/run-job.ts"))).toBe(true);
  const found = (name: string): string | undefined =>
    loaded.find((url) => url.includes(`/node_modules/${name}/`));
  expect(later.map(found)).toEqual(later.map(() => undefined));
});
