/** Which modules the client loads. It starts fast because it loads no server or agent code. */
import { expect, test } from "vitest";
import { modulesOfCommand } from "../helpers/project/loaded-modules.ts";

const foreign =
  /^(agent|control-plane)\/|node_modules\/(@aws-sdk|@smithy|fastify|better-sqlite3|kysely|pino|typebox)\//;

test.concurrent.each([
  [["jobs", "list"], "cli/jobs/read.ts"],
  [["up", "samples/hello-cluster", "--yes"], "cli/up/up.ts"],
  [["configurations", "show", "x"], "cli/configurations/verbs.ts"],
  [["completion", "bash"], "cli/commands/jobs.ts"],
])("windlass %j loads no server, agent or cloud code", async (words, expected) => {
  const { loaded } = await modulesOfCommand(...words);
  expect(loaded).toContain(expected);
  expect(loaded.filter((file) => foreign.test(file))).toEqual([]);
});

test("the client loads only its own settings", async () => {
  const { loaded } = await modulesOfCommand("jobs", "list");
  expect(loaded).toContain("common/settings/client.ts");
  expect(loaded.filter((file) => /^common\/settings\/(server|agent|registry)/.test(file))).toEqual(
    [],
  );
});

test("listing jobs does not load the code that follows a job", async () => {
  const { loaded } = await modulesOfCommand("jobs", "list");
  expect(
    loaded.filter((file) => /eventsource-parser|cli\/(logs\/follow|jobs\/watch)/.test(file)),
  ).toEqual([]);
});

test("a command of one noun does not load the code of other nouns", async () => {
  const { loaded } = await modulesOfCommand("zones", "list");
  expect(loaded).toContain("cli/commands/zones.ts");
  expect(
    loaded.filter((file) => /^cli\/(jobs|logs|plans|configurations|up|commands\/jobs)/.test(file)),
  ).toEqual([]);
});
