/** docs/limits.md says the limits that the code has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { secretLinesLimit } from "../agent/logs/secret-forms.ts";
import { formLimit } from "../control-plane/console/configurations/configuration-form-routes.ts";
import { formFields } from "../control-plane/console/page/form-body.ts";
import { jsonLevels, jsonValues } from "../control-plane/json-body.ts";
import {
  archiveLimit,
  inlineFileCount,
  inlineFilesLimit,
  variablesLimit,
} from "../protocol/configurations.ts";
import { deployConfigurationLimit } from "../protocol/deploy-configurations.ts";
import {
  logBodyLimit,
  logChunksLimit,
  logTextLimit,
  waitSecondsLimit,
} from "../protocol/executions.ts";
import { addressLimit } from "../protocol/fields.ts";
import { planArtifactLimit, planSummaryLimit, timeoutSecondsDefault } from "../protocol/limits.ts";
import { endpoints } from "../protocol/endpoints.ts";
import { outputsLimit } from "../protocol/jobs.ts";
import { problemCodes } from "../protocol/problem.ts";
import { stateLimit } from "../protocol/state.ts";
import { workerMetadataLimit } from "../protocol/workers.ts";

const page = readFileSync(join(import.meta.dirname, "../docs/limits.md"), "utf8");
const kib = (bytes: number) => `${bytes / 1024} KiB`;
const mib = (bytes: number) => `${bytes / 1024 ** 2} MiB`;
const number = (count: number) => count.toLocaleString("en-US");

test.each([
  [
    "inline files of a configuration, together",
    `${mib(inlineFilesLimit)}, ${number(inlineFileCount)} files`,
  ],
  ["its variables, together, as JSON", mib(variablesLimit)],
  ["lines and texts of what is sensitive in it, large texts an eighth", number(secretLinesLimit)],
  ["JSON inside JSON, of any body", `${jsonLevels} levels`],
  [
    "members and entries of the JSON of any body; of a job's report",
    `${number(jsonValues)}; ${number(endpoints.reportStatus.bodyValues)}`,
  ],
  ["outputs of a job that are kept", number(outputsLimit)],
  ["an uploaded archive of terraform files", mib(archiveLimit)],
  ["a plan that is handed over", mib(planArtifactLimit)],
  ["a state", mib(stateLimit)],
  [
    "a log post: body, chunks, text of all chunks",
    `${mib(logBodyLimit)}, ${logChunksLimit}, ${mib(logTextLimit)}`,
  ],
  ["a summary of a plan", kib(planSummaryLimit)],
  ["a worker's metadata", kib(workerMetadataLimit)],
  ["its deploy configuration", `${kib(deployConfigurationLimit)}, ${addressLimit} targets`],
  ["a request that waits (`?wait=`)", `${waitSecondsLimit} s`],
  ["a form of the console", `${mib(formLimit)}, ${number(formFields)} fields`],
  [
    "a job that says nothing else",
    `runs ${number(timeoutSecondsDefault)} s, then it is stopped and FAILED`,
  ],
])("says of %s: %s", (what, most) => {
  expect(page).toContain(`| ${what} | ${most} | `);
});

test("names only codes that there are, with their status", () => {
  const named = [...page.matchAll(/(\d{3}) `(\w+)`/g)].map(([, status, code]) => [
    code,
    Number(status),
  ]);
  expect(named.length).toBeGreaterThan(5);
  const codes = new Map<string, number>(
    Object.entries(problemCodes).map(([code, [status]]) => [code, status]),
  );
  expect(named.filter(([code, status]) => codes.get(String(code)) !== status)).toEqual([]);
});
