/** `windlass up` without `--team` in a directory that was deployed in a team. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeLink } from "../../../cli/up/origin.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { copyFixture } from "../../helpers/agent/fixtures.ts";
import { lossyProxy } from "../../helpers/network/lossy-proxy.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { startCommand } from "../../helpers/cli/running-command.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { windlass } from "../../helpers/cli/windlass.ts";

const { plane } = planeForFile();

test("a directory of a team is deployed in the team again, unless another space is named", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform", "--slug", "platform");
  const directory = copyFixture("success-cluster", join(ada.path, "network"));
  /** Runs until the plan waits, as no runner is there, and returns what was said. */
  const up = async (...words: string[]): Promise<string> => {
    await using command = startCommand(["up", directory, ...words], ada.environment);
    const said = await command.says("In the console:");
    command.interrupt();
    await command.ended();
    return said;
  };
  const here = () => ada.json<object[]>("configurations", "list");

  expect(await up("--team", "platform")).toContain('Configuration "network" created');
  const again = await up();
  expect(again).toContain(
    'This directory was deployed in the team "platform" before, so this command acts there too. For another space, pass --team "".',
  );
  expect(again).toContain('In the team "Platform" (platform), as admin.');
  expect(again).not.toContain("created");
  expect(await here()).toEqual([]);

  /** Runs a command in the directory. */
  const inDirectory = (...words: string[]) =>
    windlass(words, { env: ada.environment, cwd: directory });
  const [job] = await ada.json<Job[]>("jobs", "list", "--limit", "1", "--team", "platform");
  const shown = await inDirectory("jobs", "show", "-");
  expect(shown.stdout).toContain(job!.id);
  expect(shown.stderr).toContain(
    'This directory was deployed in the team "platform" before, so this command acts there too.',
  );
  for (const words of [
    ["jobs", "logs", "-"],
    ["jobs", "cancel", "-"],
  ])
    expect([words, (await inDirectory(...words)).exitCode]).toEqual([words, 0]);
  // The request goes to the team, and so does the command that it prints.
  const retried = await inDirectory("jobs", "retry", "-");
  expect(retried).toMatchObject({ exitCode: 0 });
  expect(retried.stderr).toMatch(/windlass jobs logs \S+ --follow --team platform/);
  const personal = await inDirectory("jobs", "show", "-", "--team", "");
  expect(personal).toMatchObject({ exitCode: 2 });
  expect(personal.stderr).toContain("this one has none here");

  expect(await up("--team", "")).toContain('Configuration "network" created');
  expect(await here()).toHaveLength(1);
  // Both spaces have one now: the current space takes precedence.
  const both = await up();
  expect(both).toContain(
    'This directory was deployed in the team "platform" too. This command acts in your personal space. For another space, pass --team platform.',
  );
  expect(both).not.toContain("In the team");
  const mine = await inDirectory("jobs", "show", "-");
  expect(mine).toMatchObject({ exitCode: 0, stderr: "" });

  // If the current space has none, several others have one.
  await ada.json("teams", "create", "Sales", "--slug", "sales");
  await up("--team", "sales");
  for (const one of await ada.json<Job[]>("jobs", "list")) await ada.run("jobs", "cancel", one.id);
  await ada.run("configurations", "delete", "network", "--yes");
  const several = await inDirectory("jobs", "show", "-");
  expect(several).toMatchObject({ exitCode: 2 });
  expect(several.stderr).toContain(
    "This directory was deployed in several spaces. Pass --team sales or --team platform",
  );
});

test("other spaces are asked only where one of them could have the directory", async () => {
  await using ada = await userMachine(plane);
  for (const slug of ["red", "green", "blue"])
    await ada.json("teams", "create", slug, "--slug", `${slug}-team`);
  const proxy = await lossyProxy(plane.url);
  onTestFinished(() => proxy.close());
  const env = { ...ada.environment, WINDLASS_URL: proxy.url };
  const directory = copyFixture("success-cluster", join(ada.path, "fresh"));
  const requests = async (...words: string[]): Promise<number> => {
    proxy.seen.length = 0;
    await windlass(words, { env, cwd: directory });
    return proxy.seen.length;
  };
  // Twice the configurations and twice the teams.
  expect(await requests("jobs", "show", "-")).toBe(4);
  writeLink(directory);
  // And twice the configurations of each team.
  expect(await requests("jobs", "show", "-")).toBe(10);
  await using command = startCommand(["up", directory], ada.environment);
  await command.says("In the console:");
  command.interrupt();
  await command.ended();
  // Twice the configurations, then the jobs.
  expect(await requests("jobs", "list", "--configuration", "-")).toBe(3);
});
