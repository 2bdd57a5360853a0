import { expect, test } from "vitest";
import type { Job } from "../../../protocol/jobs.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openTerminal } from "../../helpers/machine/terminal.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("jobs are listed from a time on and before another", async () => {
  await using ada = await userMachine(plane);
  const configuration_id = await ada.user.configure({});
  const { id } = await ada.user.queue({ job_type: "PLAN", configuration_id });
  const list = async (...words: string[]) =>
    (await ada.json<Job[]>("jobs", "list", ...words)).map((job) => job.id);
  expect(await list("--since", "1h")).toEqual([id]);
  expect(await list("--since", "1h", "--until", "30m")).toEqual([]);
  expect(await list("--until", "9999-01-01")).toEqual([id]);
  expect((await ada.run("jobs", "list", "--until", "1d")).stderr).toContain("No jobs match.");
  const wrong = await ada.run("jobs", "list", "--since", "yesterday");
  expect(wrong).toMatchObject({ exitCode: 2, stdout: "" });
  expect(wrong.stderr).toContain("--since must be a time such as 24h (ago), 2026-01-31");
});

test("the list of jobs leaves out columns rather than break its rows in a narrow terminal", async () => {
  await using ada = await userMachine(plane);
  const configuration_id = await ada.user.configure({});
  const { id } = await ada.user.queue({ job_type: "PLAN", configuration_id });
  expect(await ada.run("jobs", "cancel", id)).toMatchObject({ exitCode: 0 });
  await using terminal = openTerminal(["jobs", "list"], ada.environment);
  expect(await terminal.exited).toBe(0);
  const lines = terminal.screen().trimEnd().split("\n");
  expect(lines[0]).toMatch(/^TYPE +CONFIGURATI\S+ +STATUS +CHANGES .*CREATED +ID$/);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});
