import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { dom, words } from "../../../helpers/console/forms.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { readRow } from "../../../helpers/plane/plane.ts";
import { addRows } from "../../../helpers/plane/rows.ts";
import { addPerson, openTeam } from "../../../helpers/people/teams.ts";

const issuer = "https://id.example.com/realms/acme";
const { plane } = planeForFile({
  WINDLASS_OIDC_ISSUER: issuer,
  WINDLASS_OIDC_CLIENT_ID: "client",
  WINDLASS_OIDC_CLIENT_SECRET: "secret",
  WINDLASS_OIDC_NAME: "Acme",
  WINDLASS_OIDC_2_ISSUER: "https://other.example.com",
  WINDLASS_OIDC_2_CLIENT_ID: "client",
  WINDLASS_OIDC_2_CLIENT_SECRET: "secret",
});

const tableOf = (text: string, id: string): string[] =>
  dom(text)
    .querySelectorAll(`section[aria-labelledby="${id}"] tbody tr`)
    .map((row) => words(row).replaceAll(/\s+/g, " ").trim());

test("an admin adds, changes and removes groups on the page of the team", async () => {
  const team = await openTeam(plane);
  const { admin, path, params } = team;
  const viewer = await addPerson(plane, team, "viewer");
  const group = "<i>/platform</i>";
  const add = (fields: Record<string, string>) => admin.post(`${path}/groups`, fields);
  const added = await add({ issuer, group, role: "viewer" });
  expect([added.status, added.headers["location"]]).toEqual([303, `${path}#groups`]);
  await add({ issuer: "https://other.example.com", group, role: "planner" });
  await add({ issuer, group, role: "deployer" });
  expect(tableOf((await admin.page(path)).text, "groups")).toEqual([
    expect.stringMatching(/^<i>\/platform<\/i> deployer Acme Remove/),
    expect.stringMatching(/^<i>\/platform<\/i> planner other\.example\.com Remove/),
  ]);
  const refused = await add({ issuer, group: "", role: "viewer" });
  expect(refused.status).toBe(400);
  expect(words(refused)).toContain("group");
  await admin.post(`${path}/groups/remove`, { issuer, group });
  const { groups } = await admin.client.call("listTeamGroups", { params });
  expect(groups.map((one) => one.issuer)).toEqual(["https://other.example.com"]);
  expect((await viewer.page(path)).text).not.toContain('id="groups"');
  expect((await viewer.post(`${path}/groups`, { issuer, group, role: "admin" })).status).toBe(403);
});

test("the members say what makes them members, and groups are not changed there", async () => {
  const team = await openTeam(plane);
  const { admin, path, slug } = team;
  const { id: space_id } = await readRow(plane, "teams", { slug });
  expect((await admin.page(path)).text).not.toContain("By</th>");
  const id = randomUUID();
  const email = `${id}@example.com`;
  await addRows(plane.context.store, "users", { id, email, created_at: 1 });
  await addRows(plane.context.store, "memberships", {
    space_id,
    user_id: id,
    role: "planner",
    zones: "{}",
    invited_zones: "{}",
    group_zones: "{}",
    joined_at: 1,
    invited_by: null,
    invited_role: null,
    group_role: "planner",
    group_names: '["/engineers","/staff"]',
  });
  const { text } = await admin.page(path);
  expect(tableOf(text, "members")).toContainEqual(
    expect.stringMatching(`^${email} planner group /engineers , group /staff `),
  );
  expect(text).not.toContain(`Role of ${email}`);
  expect(text).not.toContain(`${path}/members/${id}/remove`);
  const refused = await admin.post(`${path}/members/${id}/remove`);
  expect(refused.status).toBe(409);
  expect(words(refused)).toContain("is a member by the groups /engineers, /staff");
});
