/** Which modules an idle agent has loaded. Each of these takes megabytes of its memory. */
import { expect, test } from "vitest";
import { modulesOf } from "../helpers/project/loaded-modules.ts";

/** Needed by some jobs only, and loaded when one of them runs. */
const later = ["typebox", "@aws-sdk", "openpgp", "tar", "yauzl", "execa", "commander", "ajv"];

test("an idle agent has loaded neither schemas nor modules that only some jobs need", async () => {
  const { loaded } = await modulesOf(`
    await import("./agent/runner.ts");
    await import("./agent/main.ts");`);
  expect(loaded).toContain("agent/job/run-job.ts");
  const found = (name: string): string | undefined =>
    loaded.find((path) => path.includes(`node_modules/${name}/`));
  expect(later.map(found)).toEqual(later.map(() => undefined));
  expect(loaded).not.toContain("node_modules/undici/index.js");
});
