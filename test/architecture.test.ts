import { describe, expect, it } from "vitest";
import { breaches, helperBreaches } from "./rules.ts";
import { helperFiles, sourceFile, sourceFiles } from "./helpers/project/source-files.ts";

const planted = (path: string, text: string) => breaches([sourceFile(path, text)]);

describe("the source", () => {
  it("follows the import and naming rules", () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(10);
    expect(breaches(files)).toEqual([]);
    expect(helperBreaches(helperFiles())).toEqual([]);
  });
});

describe("the rules find", () => {
  it.each([
    ["a static import", `import { a } from "../control-plane/app.ts"; a();`],
    ["a type-only import", `import type { A } from "../control-plane/app.ts"; export type B = A;`],
    [
      "an inline type import",
      `import { type A } from "../control-plane/app.ts"; export type B = A;`,
    ],
    ["a side-effect import", `import "../control-plane/app.ts";`],
    ["a re-export", `export { a } from "../control-plane/app.ts";`],
    ["a re-export of everything", `export * from "../control-plane/app.ts";`],
    ["a re-exported type", `export type { A } from "../control-plane/app.ts";`],
    ["a dynamic import", `const load = () => import("../control-plane/app.ts"); await load();`],
  ])("%s from the agent into the control plane", (_, text) => {
    expect(planted("agent/runner.ts", text)).toEqual([
      "agent/runner.ts imports control-plane/app.ts: the agent knows the control plane by protocol/ alone",
    ]);
  });

  it.each([
    ["protocol/jobs.ts", "../agent/api/api.ts"],
    ["protocol/jobs.ts", "pino"],
    ["protocol/jobs.ts", "../common/http-client.ts"],
    ["agent/api/api.ts", "undici"],
    ["protocol/jobs.ts", "./transport.ts"],
    ["protocol/transport.ts", "got"],
    ["common/settings/read.ts", "../../agent/config.ts"],
    ["agent/api/api.ts", "../../cli/terminal/output.ts"],
    ["cli/main.ts", "../agent/main.ts"],
    ["cli/commands/jobs.ts", "../../control-plane/config.ts"],
    ["control-plane/services/jobs/jobs.ts", "../../../protocol/transport.ts"],
    ["control-plane/services/jobs/jobs.ts", "../../routes/jobs.ts"],
    ["control-plane/services/jobs/jobs.ts", "kysely"],
    ["control-plane/services/jobs/jobs.ts", "../../app.ts"],
    ["control-plane/routes/jobs.ts", "../store/jobs/jobs.ts"],
    ["control-plane/domain/job.ts", "../store/jobs/jobs.ts"],
    ["control-plane/domain/job.ts", "../store/tables.ts"],
    ["control-plane/domain/job.ts", "node:fs/promises"],
    ["control-plane/store/jobs/jobs.ts", "../../services/jobs/jobs.ts"],
    ["control-plane/blobs/disk.ts", "../store/db.ts"],
    ["agent/job/steps.ts", "../api/api.ts"],
    ["agent/heartbeat.ts", "./runner.ts"],
    ["agent/heartbeat.ts", "undici"],
    ["control-plane/domain/job.ts", "../../common/http-client.ts"],
    ["cli/main.ts", "better-sqlite3"],
    ["main.ts", "kysely"],
    ["agent/api/api.ts", "../../test/helpers/server.ts"],
    ["agent/api/api.ts", "../claim-loop.ts"],
    ["agent/machine/lock.ts", "../api/api.ts"],
    ["agent/logs/shipper.ts", "../api/api.ts"],
    ["cli/terminal/output.ts", "../api/api.ts"],
    ["cli/jobs/create.ts", "../program.ts"],
    ["control-plane/services/jobs/jobs.ts", "../../http/problem.ts"],
    ["control-plane/services/jobs/jobs.ts", "fastify"],
    ["control-plane/http/guards.ts", "../store/jobs/jobs.ts"],
    ["control-plane/http/guards.ts", "../routes/jobs.ts"],
    ["control-plane/console/jobs/job-page.ts", "../../blobs/disk.ts"],
    ["control-plane/openapi/document.ts", "../services/jobs/jobs.ts"],
    ["control-plane/backup/backup.ts", "../services/jobs/jobs.ts"],
    ["control-plane/data-directory/lock.ts", "../services/jobs/jobs.ts"],
    ["control-plane/commands/backup.ts", "../server.ts"],
    ["control-plane/wakeups/memory.ts", "../store/db.ts"],
    ["common/units.ts", "../protocol/limits.ts"],
    ["agent/job/isolation/wipe.ts", "node:child_process"],
  ])("%s importing %s", (path, target) => {
    expect(planted(path, `import "${target}";`)).toHaveLength(1);
    expect(planted(path, `import type { A } from "${target}"; export type B = A;`)).toHaveLength(1);
  });

  it("a directory of services without a place in their order", () => {
    const [breach] = planted("control-plane/services/elsewhere/a.ts", "export {};");
    expect(breach).toContain("serviceOrder does not name");
  });

  it.each([
    `export const home = () => process.env.HOME;`,
    `const home = process["env"]["HOME"]; home?.trim();`,
    `const { env } = process; env.HOME?.trim();`,
    `import { env } from "node:process"; env.HOME?.trim();`,
    `import process from "node:process"; process.exit();`,
  ])("a look into the environment outside config.ts: %s", (text) => {
    expect(planted("agent/api/api.ts", `/** . */ ${text}`)).toEqual([
      expect.stringContaining("reads process.env"),
    ]);
    expect(planted("agent/config.ts", `/** . */ ${text}`)).toEqual([]);
  });

  it.each([
    `if ((error as Error).message.startsWith("x is not set")) start();`,
    `if (error.message === "runner lost") start();`,
    `if (job.error_message !== lostMessage) start();`,
    `if (/plan/.test(chunk.log_chunk)) start();`,
    `const [name] = line.exec(error?.message) ?? [];`,
    `const { error_message } = job; if (/late/.test(error_message ?? "")) start();`,
    `const { error_message: text } = job; if (text.includes("late")) start();`,
    `const isLate = ({ error_message }: Job) => error_message?.startsWith("late"); isLate(job);`,
    `const namesIn = (message: string | null) => (message ?? "").matchAll(form); namesIn(text);`,
    `const said = job.error_message!; if (said === "late") start();`,
  ])("a decision by the text of a message: %s", (text) => {
    expect(planted("cli/run.ts", text)).toEqual([expect.stringContaining("judges the text")]);
    expect(
      planted("cli/run.ts", "if (job.error_message === null) start(job.error_message);"),
    ).toEqual([]);
    expect(planted("cli/run.ts", "if (job.error_message === end.error_message) start();")).toEqual(
      [],
    );
  });

  it.each(["Date.now()", "new Date()", 'Date["now"]()'])("the agent at the clock: %s", (look) => {
    const text = `/** . */ export const at = () => ${look};`;
    expect(planted("agent/claim-loop.ts", text)).toEqual([
      expect.stringContaining("reads the clock"),
    ]);
    expect(planted("agent/job/credentials/validity.ts", text)).toEqual([]);
    expect(planted("agent/claim-loop.ts", "new Date(0).toISOString();")).toEqual([]);
  });

  it("a file of more than 300 lines of code", () => {
    const comments = "/* a\ncomment */\n\n// another\n".repeat(100);
    expect(planted("agent/api/api.ts", `${comments}${"go();\n".repeat(301)}`)).toEqual([
      "agent/api/api.ts has 301 lines of code, more than 300: split it by concern",
    ]);
    expect(planted("agent/api/api.ts", `${comments}${"go();\n".repeat(300)}`)).toEqual([]);
  });

  it.each([
    [`import { test } from "vitest"; test.for([1])("a", () => {});`, 1],
    [`describe("a", () => {});`, 1],
    [`import "../../faults/kill-jobs.ts";`, 1],
    [`import { agent } from "../agent/agent-process.ts"; test.extend("a", () => agent);`, 0],
  ])("a helper that is a suite or belongs to one: %s", (text, count) => {
    expect(helperBreaches([sourceFile("test/helpers/cli/a.ts", text)])).toHaveLength(count);
  });

  it("a file in no directory of the table", () => {
    expect(planted("elsewhere/a.ts", "export {};")).toEqual([
      "elsewhere/a.ts is in no directory of the table of directories: add who may import whom",
    ]);
  });

  it("a cycle, also through types", () => {
    const text = (target: string) => `import type { A } from "${target}"; export type B = A;`;
    const files = [
      sourceFile("agent/a.ts", text("./b.ts")),
      sourceFile("agent/b.ts", text("./c.ts")),
      sourceFile("agent/c.ts", text("./b.ts")),
    ];
    expect(breaches(files)).toEqual([
      "agent/b.ts imports agent/c.ts imports agent/b.ts: a cycle, so none can be read by itself",
    ]);
  });

  it("nothing in code that follows them", () => {
    expect([
      ...planted("main.ts", `await import("./cli/main.ts"); await import("./agent/main.ts");`),
      ...planted("control-plane/main.ts", `import "./app.ts"; import "./config.ts";`),
      ...planted("control-plane/routes/jobs.ts", `import "../services/jobs/jobs.ts";`),
      ...planted("control-plane/store/db.ts", `import "kysely";`),
      ...planted("agent/api/api.ts", `import "../../protocol/transport.ts";`),
    ]).toEqual([]);
  });
});
