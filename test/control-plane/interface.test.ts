/** docs/interface.md lists every endpoint with an existing test. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Component, Configuration } from "../../protocol/configurations.ts";
import { endpoints } from "../../protocol/endpoints.ts";
import { ClaimedJob, ReportStatus } from "../../protocol/executions.ts";
import { ExecutionMetadata, Job, LogChunk } from "../../protocol/jobs.ts";
import { OutputChange, PlannedChange, PlanSummary } from "../../protocol/plan-summary.ts";
import { StateLock } from "../../protocol/state-versions.ts";

/** Sections 4.1 to 4.4 of the interface. */
const ofTheInterface = `
POST /api/auth/cli/generate
  POST /api/auth/cli/exchange
  POST /api/auth/cli/refresh
  GET /api/auth/callback
  POST /api/jobs/claim
  POST /api/workers/heartbeat
  PUT /api/jobs/{id}/status
  POST /api/jobs/{id}/logs
  GET /api/jobs/{id}/logs
  POST /api/jobs/{id}/plan-artifact
  GET /api/jobs/{id}/plan-artifact
  POST /api/workers/register
  GET /api/workers/{id}
  POST /api/workers/{id}/metadata
  GET /api/cli/zones
  POST /api/cli/zones
  GET /api/cli/zones/{id}
  GET /api/cli/configurations
  GET /api/cli/configurations/{name}
  GET /api/cli/configurations/by-project-name/{project_name}
  POST /api/cli/configurations
  POST /api/jobs
  GET /api/jobs
  GET /api/cli/jobs/{id}
  GET /api/cli/jobs/{id}/logs
  POST /api/cli/jobs/{id}/cancel
  GET /api/cli/workers
  POST /api/cli/workers
  GET /api/cli/workers/{id}
  GET /api/cli/repositories/{git_provider}
  POST /api/releases/worker
  POST /api/runners/register
`
  .trim()
  .split(/\n */);

interface Schema {
  readonly properties?: Readonly<Record<string, object>>;
}

const root = new URL("../../", import.meta.url);

const rows = (await readFile(new URL("docs/interface.md", root), "utf8"))
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim().replace(/^`|`$/g, "")))
  .filter(([, , , file]) => file?.startsWith("test/"))
  .map(([, section = "", what = "", file = "", name = ""]) => ({ section, what, file, name }));
const isEndpoint = ({ what }: { what: string }) => what.includes(" /");

test("docs/interface.md lists every endpoint of the interface and of the protocol once", () => {
  const served = Object.values(endpoints).map(({ method, path }) => `${method} ${path}`);
  const listed = rows.filter(isEndpoint).map(({ what }) => what);
  expect(listed.toSorted(), "add what is missing to docs/interface.md").toEqual(
    [...new Set([...ofTheInterface, ...served])].toSorted(),
  );
  const sectioned = rows.filter(({ section }) => section.startsWith("4."));
  expect(sectioned.map(({ what }) => what).toSorted()).toEqual(ofTheInterface.toSorted());
});

test("every field that docs/interface.md lists is a field of its schema", () => {
  const schemas: Record<string, object> = {
    ClaimedJob,
    Component,
    Configuration,
    ExecutionMetadata,
    Job,
    LogChunk,
    OutputChange,
    PlannedChange,
    PlanSummary,
    ReportStatus,
    StateLock,
  };
  const fields = rows.filter((row) => !isEndpoint(row)).map(({ what }) => what);
  const unknown = fields.filter((field) => {
    const [schema = "", ...names] = field.split(".");
    let found: Schema | undefined = schemas[schema];
    for (const name of names) found = found?.properties?.[name];
    return names.length === 0 || found === undefined;
  });
  expect(fields.length).toBeGreaterThanOrEqual(5);
  expect(unknown).toEqual([]);
});

test("every test that docs/interface.md names exists", async () => {
  const missing: string[] = [];
  for (const { file, name } of rows) {
    const source = await readFile(new URL(file, root), "utf8").catch(() => "");
    if (name === "" || !source.includes(`"${name}"`)) missing.push(`${file}: ${name}`);
  }
  expect(missing).toEqual([]);
});
