import { beforeAll, describe, expect, test } from "vitest";
import { setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";
import { words } from "../../../helpers/console/forms.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
let job: string;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
  const configuration_id = await fixture.configure("Ärger in GROẞ ÅLAND");
  ({ id: job } = await fixture.queue({ job_type: "PLAN", configuration_id }));
  await setRows(plane, "jobs", { created_by: "Öznur Ünal" }, { id: job });
});

const read = async (path: string, query: Record<string, string>) =>
  words(await fixture.page(`${path}?${new URLSearchParams(query).toString()}`));

describe.each([
  ["as it is written", "Ärger", true],
  ["in small letters", "ärger", true],
  ["in capitals", "ÄRGER IN", true],
  ["decomposed", "A\u0308rger", true],
  ["with a capital letter that has no usual form", "groẞ å", true],
  ["of ASCII letters", "RGER", true],
  ["with another letter", "Arger", false],
  ["of which only a part is there", "ärger ö", false],
])("a part of a name %s", (_, text, isThere) => {
  test("is found by the search", async () => {
    expect((await read("/search", { q: text })).includes("Ärger in")).toBe(isThere);
  });

  test("is found by the filter of the jobs", async () => {
    expect((await read("/jobs", { name: text })).includes("Ärger in")).toBe(isThere);
  });
});

test("a job is found by the beginning of its id, in any case of letters", async () => {
  for (const q of [job, job.slice(0, 8), ` ${job.slice(0, 13).toUpperCase()} `])
    expect(await read("/search", { q })).toContain(`PLAN of Ärger in GROẞ ÅLAND ${job} Queued`);
  for (const q of [job.slice(0, 3), `${job.slice(0, 13)}x`, `${job}0`])
    expect(await read("/search", { q })).not.toContain(`PLAN of Ärger`);
  expect(await read("/search", { q: "dead-beef" })).toContain("and no job’s id begins so");
});

test("a name that no configuration has leads to the jobs of those that had it", async () => {
  expect(await read("/search", { q: "Ärger" })).toContain("Jobs of configurations with this name");
  const had = "Jobs of configurations that had this name, such as deleted ones";
  expect(await read("/search", { q: "zzz" })).toContain(had);
});

test("the filter of the jobs finds a person in any case of letters", async () => {
  for (const by of ["Öznur", "öZNUR ü", "ÜNAL", "nur"])
    expect(await read("/jobs", { by })).toContain("Ärger in");
  for (const by of ["ünäl", "Oznur"]) expect(await read("/jobs", { by })).not.toContain("Ärger in");
});

test("a text of very many letters finds what it is a part of", async () => {
  const letters = Array.from({ length: 45 }, (_, at) => String.fromCodePoint(0x410 + at)).join("");
  await fixture.configure(letters);
  expect(await read("/search", { q: letters })).toContain(`Configurations ${letters}`);
});
