/** The pages of variable sets, and the sections of zones and configurations about them. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Variable } from "../../../../protocol/values.ts";
import { words, type Fields } from "../../../helpers/console/forms.ts";
import { type TestResponse } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";
import { dump } from "../../../helpers/store/store-dump.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});

const send = (path: string, fields: Fields): Promise<TestResponse> => fixture.post(path, fields);
const page = (path: string) => fixture.page(path);
const saidAt = async (path: string): Promise<string> => words(await page(path));
const create = async (name: string): Promise<string> =>
  String((await send("/variable-sets", { name })).headers["location"]);
const idOf = (path: string): string => path.split("/")[2] ?? "";
const read = (path: string) =>
  fixture.client.call("getVariableSet", { params: { id: idOf(path) } });

test("a set is created, filled, attached, detached and deleted", async () => {
  const path = await create("shared values");
  expect(await saidAt("/variable-sets")).toContain("shared values 0 0");
  expect(await saidAt(path)).toContain("Nothing yet, so no job gets these values.");
  const add = (kind: string, name: string, value: string, more: Fields = {}) =>
    send(`${path}/${kind}`, { do: "add", name, value, ...more });
  expect((await add("variables", "zones", "[1, 2]")).status).toBe(303);
  expect((await add("variables", "pin", "planted-1", { sensitive: "on" })).status).toBe(303);
  expect((await add("environment", "API_TOKEN", "planted-2")).status).toBe(303);
  expect((await add("environment", "TF_CLI_ARGS", "x")).status).toBe(400);
  const { zone } = fixture.owner;
  await fixture.configure("takes part");
  const attach = (kind: string, fields: Fields) =>
    send(`${path}/${kind}s`, { do: "attach", ...fields });
  expect((await attach("zone", { zone })).headers["location"]).toBe(`${path}#attached`);
  expect((await attach("configuration", { configuration: "takes part" })).status).toBe(303);
  expect(await read(path)).toMatchObject({
    variables: { zones: { value: [1, 2] }, pin: { sensitive: true } },
    environment: { API_TOKEN: { sensitive: true } },
    zone_ids: [zone],
    configuration_ids: [expect.any(String)],
  });
  const { text } = await page(path);
  expect(text).not.toContain("planted");
  expect(words(text)).toMatch(
    /production zone: all its configurations Detach takes part configuration Detach/,
  );
  expect(words(text)).toContain("It cannot be deleted while it is attached.");
  expect(await saidAt("/variable-sets")).toContain("shared values 1 1");
  expect(await saidAt("/search?q=SHARED")).toContain("Variable sets shared values");
  expect((await send(`${path}/delete`, {})).status).toBe(409);
  const [configuration = ""] = (await read(path)).configuration_ids;
  await send(`${path}/configurations`, { do: "detach", configuration });
  await send(`${path}/zones`, { do: "detach", zone });
  expect((await send(`${path}/delete`, {})).headers["location"]).toBe("/variable-sets");
  expect((await page(path)).status).toBe(404);
  const audit = await saidAt("/audit");
  expect(audit).toContain("attached the variable set shared values");
  expect(audit).toContain("zone: production");
  expect(audit).toContain("configuration: takes part");
});

describe("the pages of a configuration and its zone", () => {
  test("attach and detach sets, and name the set of each value and what overrides it", async () => {
    const { owner, client } = fixture;
    const id = await fixture.configure("shares");
    const make = (name: string, variables: Record<string, Variable>) =>
      client.call("createVariableSet", { body: { name, variables } });
    const shared = { value: "s3cret", sensitive: true };
    const near = await make("of one", { region: { value: "eu-of-one" }, pin: shared });
    const far = await make("of all", { region: { value: "eu-of-all" }, size: { value: 3 } });
    await send(`/configurations/${id}/variables/variables`, {
      do: "add",
      name: "size",
      value: "4",
    });
    const [own, zone] = [`/configurations/${id}/variables`, `/zones/${owner.zone}`];
    expect(await saidAt(own)).toContain("None is attached to the configuration or its zone.");
    expect(await saidAt(zone)).toContain("None is attached to the zone.");
    for (const [path, set] of [
      [own, near.id],
      [zone, far.id],
    ])
      expect(
        (await send(`${path}/variable-sets`, { do: "attach", set: set ?? "" })).headers["location"],
      ).toBe(`${path}#variable-sets`);
    const shown = await saidAt(own);
    expect(shown).toMatch(
      /has the name: of one Detach of all attached to the zone All of them win over \.tfvars files and TF_VAR_… variables\. Name Value/,
    );
    expect(shown).toContain("pin sensitive: never shown of one (of the configuration) –");
    expect(shown).toContain("region eu-of-one of one (of the configuration) –");
    expect(shown).toContain("region eu-of-all of all (of the zone) of one");
    expect(shown).toContain("size 3 of all (of the zone) the configuration's own value");
    expect(shown).not.toContain("s3cret");
    expect(await saidAt(zone)).toMatch(
      /these in this order: of all Detach All of them win .*Name Value.*eu-of-all/,
    );
    await send(`${zone}/variable-sets`, { do: "detach", set: far.id });
    expect(await saidAt(own)).not.toContain("eu-of-all");
  });

  test("list the first 200 values, each cut", async () => {
    const id = await fixture.configure("many values");
    const variables = Object.fromEntries(
      Array.from({ length: 250 }, (_, n) => [`v${n}`, { value: "x".repeat(10_000) }]),
    );
    await fixture.client.call("createVariableSet", {
      body: { name: "many", variables, configuration_ids: [id] },
    });
    const { text } = await page(`/configurations/${id}/variables`);
    expect(text.length).toBeLessThan(200_000);
    expect(words(text)).toContain("… and 50 more on the pages of the sets.");
  });
});

test("a refused form says why and changes nothing", async () => {
  const path = await create("refuses");
  const before = await dump(plane);
  const zone = `/zones/${fixture.owner.zone}/variable-sets`;
  const cases: [path: string, fields: Fields, said: RegExp][] = [
    ["/variable-sets", { name: "refuses" }, /^409 .*"refuses" already exists\./],
    ["/variable-sets", { name: " " }, /^400 .*Must not be empty\./],
    [path, { name: "a\nb" }, /^400 .*without control characters and invisible/],
    [`${path}/zones`, { do: "attach", zone: "" }, /^400 .*choose a zone\./],
    [`${path}/zones`, { do: "attach", zone: randomUUID() }, /^404 .*There is no such zone\./],
    [`${path}/zones`, { zone: fixture.owner.zone }, /^400 .*must be attach or detach\./],
    [
      `${path}/configurations`,
      { do: "attach", configuration: "no such" },
      /^404 .*There is no such configuration\./,
    ],
    [zone, { do: "attach", set: "" }, /^400 .*choose a variable set\./],
    [zone, { do: "attach", set: randomUUID() }, /^404 .*There is no such variable set\./],
  ];
  for (const [at, fields, said] of cases) {
    const refused = await send(at, fields);
    expect([at, `${refused.status} ${words(refused)}`]).toEqual([at, expect.stringMatching(said)]);
    expect(words(refused)).toContain("Nothing was changed.");
  }
  expect(await dump(plane)).toEqual(before);
});
