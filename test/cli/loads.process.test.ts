/** Which modules the client loads. It starts fast because it loads no server or agent code. */
import { execa } from "execa";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../helpers/source-files.ts";

/** Returns the project's files that a command line loads. */
async function loadedBy(...words: string[]): Promise<string[]> {
  const { stdout } = await execa(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      `import { registerHooks } from "node:module";
       const loaded = [];
       registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
       process.on("exit", () => { process.exitCode = 0; console.log("\\n" + JSON.stringify(loaded)); });
       process.argv.splice(1, 0, "windlass", ...${JSON.stringify(words)});
       await import(${JSON.stringify(`file://${root}/main.ts`)});`,
    ],
    { env: { WINDLASS_URL: "http://127.0.0.1:9", WINDLASS_TOKEN: "x" } },
  );
  const urls = JSON.parse(stdout.split("\n").at(-1) ?? "[]") as string[];
  return urls.flatMap((url) =>
    url.startsWith(`file://${root}/`) ? [url.slice(root.length + 8)] : [],
  );
}

const foreign =
  /^(agent|control-plane)\/|node_modules\/(@aws-sdk|@smithy|fastify|better-sqlite3|kysely|pino|typebox)\//;

test.concurrent.each([
  [["jobs", "list"], "cli/jobs/read.ts"],
  [["up", join(root, "samples/hello-cluster"), "--yes"], "cli/up/up.ts"],
  [["configurations", "show", "x"], "cli/configurations/verbs.ts"],
  [["completion", "bash"], "cli/commands/jobs.ts"],
])("windlass %j loads no server, agent or cloud code", async (words, expected) => {
  const loaded = await loadedBy(...words);
  expect(loaded).toContain(expected);
  expect(loaded.filter((file) => foreign.test(file))).toEqual([]);
});

test("the client loads only its own settings", async () => {
  const loaded = await loadedBy("jobs", "list");
  expect(loaded).toContain("common/settings/client.ts");
  expect(loaded.filter((file) => /^common\/settings\/(server|agent|registry)/.test(file))).toEqual(
    [],
  );
});

test("listing jobs does not load the code that follows a job", async () => {
  const loaded = await loadedBy("jobs", "list");
  expect(
    loaded.filter((file) => /eventsource-parser|cli\/(logs\/follow|jobs\/watch)/.test(file)),
  ).toEqual([]);
});

test("a command of one noun does not load the code of other nouns", async () => {
  const loaded = await loadedBy("zones", "list");
  expect(loaded).toContain("cli/commands/zones.ts");
  expect(
    loaded.filter((file) => /^cli\/(jobs|logs|plans|configurations|up|commands\/jobs)/.test(file)),
  ).toEqual([]);
});
