import { expect, test } from "vitest";
import { roles } from "../../../../protocol/roles.ts";
import { attributes, submit, texts, words } from "../../../helpers/console/forms.ts";
import { addPerson, openTeam } from "../../../helpers/people/teams.ts";
import { bearer, openPerson, type Person } from "../../../helpers/people/sign-in.ts";
import { ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();

test("the settings page creates an access token, shows it once, lists it and revokes it", async () => {
  const { headers } = await openPerson(plane);
  const settings = async () => (await ask(plane, "GET", "/settings", { headers })).text;
  const post = (path: string, fields: Record<string, string> = {}) =>
    submit(plane, path, fields, headers);
  expect(await settings()).toContain("No access token yet.");

  const create = { name: "a<b", role: "viewer", days: "7" };
  const shown = await post("/settings/access-tokens", create);
  expect(shown.status).toBe(200);
  expect(shown.headers["cache-control"]).toContain("no-store");
  const [token = ""] = texts(shown, "code#secret");
  expect(token).toMatch(/^wlt_[\w-]{43}$/);
  expect(texts(shown, "strong")).toContain("a<b");
  const used = await ask(plane, "GET", "/api/cli/zones", { headers: bearer(token) });
  expect(used.status).toBe(200);

  const listed = await settings();
  expect(texts(listed, "code")).toContain(`${token.slice(0, 8)}…`);
  expect(words(listed)).toContain("ago from 127.0.0.1");
  expect(listed).not.toContain(token);

  const [revoke = ""] = attributes(listed, "form[action$=revoke]", "action");
  const revoked = await post(revoke);
  expect([revoked.status, revoked.headers["location"]]).toEqual([303, "/settings#access-tokens"]);
  expect(await settings()).toContain("No access token yet.");
  expect((await post(revoke)).status).toBe(404);
  expect((await post("/settings/access-tokens/1/revoke")).status).toBe(404);
});

test("a refused form for an access token keeps what was typed, and says what is wrong", async () => {
  const { headers } = await openPerson(plane);
  const create = (fields: Record<string, string>) =>
    submit(plane, "/settings/access-tokens", fields, headers);
  for (const [fields, says] of [
    [{ name: "", role: "viewer", days: "7" }, "#token-name-wrong"],
    [{ name: "ci", role: "owner", days: "7" }, "#token-role-wrong"],
    [{ name: "ci", role: "viewer", days: "366" }, "#token-days-wrong"],
    [{ name: "ci", role: "viewer", days: "soon" }, "#token-days-wrong"],
  ] as const) {
    const answer = await create(fields);
    expect(answer.status).toBe(400);
    expect(texts(answer, says)).toHaveLength(1);
    expect(attributes(answer, "input", "value")).toContain(fields.days);
    expect(answer.text).not.toContain("wlt_");
  }
  expect((await create({ name: "ci", role: "viewer", days: "" })).status).toBe(200);
  const taken = await create({ name: "ci", role: "viewer", days: "" });
  expect(taken.status).toBe(409);
  expect(taken.text).toContain("There is an access token &quot;ci&quot; already");
});

test("the form for an access token offers the roles that its reader may give", async () => {
  const team = await openTeam(plane);
  const offered = async ({ page }: Person) => {
    return attributes(await page(`/settings?team=${team.slug}`), "[name=role] option", "value");
  };
  const all = [];
  for (const role of roles) {
    all.push(role);
    expect(await offered(await addPerson(plane, team, role))).toEqual(all);
  }
  const planner = await addPerson(plane, team, "planner");
  const fields = { name: "ci", role: "admin", days: "7" };
  const refused = await planner.post(`/settings/access-tokens?team=${team.slug}`, fields);
  expect([refused.status, words(refused)]).toEqual([
    403,
    expect.stringContaining("You have the role planner. You can give: viewer, planner."),
  ]);
});
