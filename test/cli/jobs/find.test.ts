import { expect } from "vitest";
import { configurationOf } from "../../../cli/configurations/find.ts";
import { findJob } from "../../../cli/jobs/find.ts";
import type { Run } from "../../../cli/run.ts";
import { CliError } from "../../../cli/terminal/output.ts";
import { clientApiOf, openClientApi } from "../../helpers/cli/client-api.ts";
import { setRows } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addJob, addSpec } from "../../helpers/plane/rows.ts";
import { addTeam, addTeamSpec } from "../../helpers/people/teams.ts";
import { addTestUser, type TestUser } from "../../helpers/people/user.ts";

const { plane, it: base } = planeForFile();

/** The id that a user gets, or the exit code and the message. */
const it = base.extend("find", async ({ owner }) => {
  const api = await clientApiOf(plane, owner);
  return async (text: string, configuration?: string): Promise<string> => {
    try {
      const choice = configuration && {
        configuration: await configurationOf(api, configuration),
        type: "PLAN" as const,
      };
      return (await findJob({ api } as Run, text, choice || {})).id;
    } catch (error) {
      if (error instanceof CliError) return `${error.exitCode}: ${error.message}`;
      throw error;
    }
  };
});

it("a job is found by its id, its beginning, or as the latest one", async ({ owner, find }) => {
  const { store } = plane.context;
  const [spec, other] = [await addSpec(store, owner), await addSpec(store, owner)];
  const ids = [
    "01890a5d-ac96-7000-8000-00000000000a",
    "01890a5d-ac97-7000-8000-00000000000b",
    "01890a5e-0000-7000-8000-00000000000c",
  ] as const;
  await addJob(store, owner, { id: ids[0], spec_id: spec });
  await addJob(store, owner, { id: ids[1], spec_id: spec, job_type: "DEPLOY" });
  await addJob(store, owner, { id: ids[2], spec_id: other });

  expect(await find(ids[1].toUpperCase())).toBe(ids[1]);
  expect(await find("01890a5d-ac96")).toBe(ids[0]);
  expect(await find("01890A5E")).toBe(ids[2]);
  expect(await find(`${spec}/-`)).toBe(ids[1]);
  expect(await find(`${other.slice(0, 35)}/-`)).toBe(ids[2]);
  expect(await find("-", spec)).toBe(ids[0]);
  expect(await find("01890a5d")).toBe(
    `2: Several jobs have ids that begin with 01890a5d. Type more of the id:\n  ${ids[1]}  deployment, QUEUED\n  ${ids[0]}  plan, QUEUED`,
  );
});

it("what is in another space of the user is named with that space, and with no other", async () => {
  const { store } = plane.context;
  const user = await addTestUser(plane);
  const { slug } = await addTeam(plane, user);
  const { space, spec } = await addTeamSpec(plane, slug);
  const { id: job } = await addJob(store, space, { spec_id: spec });
  const openFor = ({ environment }: TestUser, team?: string) =>
    openClientApi(plane.url, environment.WINDLASS_TOKEN, team);
  const refusal = (attempt: Promise<unknown>): Promise<string> =>
    attempt.then(
      () => "found",
      (error: unknown) => (error as Error).message,
    );
  const api = openFor(user);
  const there = ` It is in the team "${slug}": add --team ${slug}`;
  const findIn = (text: string) => refusal(findJob({ api } as Run, text));
  expect(await findIn(job.slice(0, 18))).toMatch(new RegExp(`${there}$`));
  // A whole id is found in whichever space it is.
  expect(await findIn(job)).toBe("found");
  expect(await refusal(configurationOf(api, spec))).toBe("found");
  expect(api.team).toBe(slug);
  const start = spec.slice(0, 35);
  expect(await refusal(configurationOf(openFor(user), start))).toBe(
    `There is no configuration "${start}" here.${there}`,
  );
  const own = (await addSpec(store, user.owner)).slice(0, 35);
  expect(await refusal(configurationOf(openFor(user, slug), own))).toContain(
    'It is in your personal space: add --team ""',
  );
  const other = openFor(await addTestUser(plane));
  expect(await refusal(configurationOf(other, start))).not.toContain("team");
});

it("no job is found by a wrong word, which the message names", async ({ owner, find }) => {
  const spec = await addSpec(plane.context.store, owner);
  expect(await find("0189")).toMatch(/^1: There is no job whose id begins with 0189\. /);
  for (const text of ["018", "network", "0189%", ""])
    expect(await find(text)).toMatch(`1: "${text}" does not name a job. Pass an id`);
  expect(await find("none/-")).toMatch(/^1: There is no configuration "none"/);
  expect(await find(`${spec}/-`)).toBe(`1: "${spec}" has no job yet.`);
  expect(await find("-", spec)).toBe(`1: "${spec}" has no PLAN yet.`);
});

it("NAME/- is the latest job of the configuration with any name", async ({ owner, find }) => {
  const latest: Record<string, string> = {};
  for (const name of ["x", "x/-", "y/-", "a/b", ".", "..", "a?b#c", "%2e"]) {
    const spec_id = await addSpec(plane.context.store, owner);
    await setRows(plane, "specs", { name, project_name: name }, { id: spec_id });
    latest[name] = (await addJob(plane.context.store, owner, { spec_id })).id;
  }
  for (const [name, id] of Object.entries(latest))
    expect([name, await find(`${name}/-`)]).toEqual([name, id]);
  // The suggestion is a word that names a job.
  expect(await find("y/-")).toBe('1: There is no configuration "y". Did you mean y/-/-?');
  expect(await find("/-")).toMatch('1: There is no configuration "". ');
});
