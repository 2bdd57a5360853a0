/** The costs of docs/limits.md that are products of teams, groups, roles and variable sets. */
import { v7 as uuid } from "uuid";
import { expect, test } from "vitest";
import { storedJson } from "../../control-plane/services/definitions.ts";
import { findSpaces } from "../../control-plane/services/people/caller-spaces.ts";
import {
  membershipsByGroups,
  teamsByGroupsLimit,
} from "../../control-plane/services/teams/group-members.ts";
import { changeMember } from "../../control-plane/services/teams/membership.ts";
import { teamsLimit } from "../../control-plane/services/teams/teams.ts";
import { system } from "../../control-plane/services/audit/audit.ts";
import { updateVariableSet } from "../../control-plane/services/variable-sets/variable-sets.ts";
import { zonesText } from "../../control-plane/domain/roles.ts";
import { teamGroupsLimit } from "../../protocol/limits.ts";
import { zoneRolesLimit } from "../../protocol/role-names.ts";
import { attachmentsLimit, setsLimit } from "../../protocol/variable-sets.ts";
import { callerOf } from "../helpers/people/caller.ts";
import { addUser } from "../helpers/people/user.ts";
import { readRow, readRows } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { addRows, addSpec } from "../helpers/plane/rows.ts";
import { counted } from "../helpers/store/work.ts";

const { plane } = planeForFile();

const times = <T>(count: number, one: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => one(at));
const zoneRoles = (count: number) => new Map(times(count, () => [uuid(), "deployer"] as const));

async function addTeams(count: number): Promise<string[]> {
  const { store } = plane.context;
  const ids = times(count, () => uuid());
  await addRows(store, "spaces", ...ids.map((id) => ({ id })));
  const teams = ids.map((id) => ({ id, slug: `t-${id}`, name: "Team", created_at: 1 }));
  await addRows(store, "teams", ...teams);
  return ids;
}

test("groups of a person × teams that admit them: a sign-in reads so many entries, in one statement", async () => {
  const { store } = plane.context;
  const host = "id.example.com";
  const names = times(teamGroupsLimit, (at) => `group-${at}`);
  for (const space_id of await addTeams(teamsByGroupsLimit + 10))
    await addRows(
      store,
      "team_groups",
      ...names.map((name) => {
        const zones = zonesText(zoneRoles(2));
        const group = { space_id, host, name, issuer: `https://${host}`, created_at: 1 };
        return { ...group, role: "viewer" as const, zones };
      }),
    );
  const { context, work } = counted(plane.context);
  const account = { host, groups: JSON.stringify([...names, ...times(150, (at) => `none-${at}`)]) };
  const given = await membershipsByGroups(context.store.read, [account]);
  expect(work).toEqual({ statements: 1, rows: teamsByGroupsLimit * teamGroupsLimit });
  expect(given).toHaveLength(teamsByGroupsLimit);
  expect(new Set(given.map(({ access }) => access.zones.size))).toEqual(new Set([zoneRolesLimit]));
});

test("teams of a person × roles in zones: a request reads a row for each team, and 50 bytes for each role", async () => {
  const { store, now } = plane.context;
  const user = await addUser(plane);
  const { id: login } = await readRow(plane, "logins", { user_id: user.id });
  const teams = await addTeams(teamsLimit + teamsByGroupsLimit);
  const [first = "", ...others] = teams;
  const sources = {
    invited: { access: { role: "viewer", zones: zoneRoles(zoneRolesLimit) }, by: null },
    groups: { access: { role: "none", zones: zoneRoles(zoneRolesLimit) }, names: ["group"] },
  } as const;
  const changed = { space: first, user: user.id, name: user.email, by: system };
  await store.write((tx) => changeMember(tx, [], changed, sources, now()));
  const row = await readRow(plane, "memberships", { space_id: first, user_id: user.id });
  for (const space_id of others) await addRows(store, "memberships", { ...row, space_id });
  const { context, work } = counted(plane.context);
  const who = { login_kind: "cli", login_id: login } as const;
  const spaces = (await findSpaces(context.store.read, who, now())) ?? [];
  expect(work).toEqual({ statements: 1, rows: teams.length });
  const roles = spaces.reduce((sum, { zones }) => sum + zones.size, 0);
  expect(roles).toBe(teams.length * 2 * zoneRolesLimit);
  const rows = await readRows(plane, "memberships", { user_id: user.id });
  const bytes = rows.reduce((sum, { zones }) => sum + Buffer.byteLength(zones), 0);
  expect(bytes).toBeLessThanOrEqual(roles * 50 + 2 * teams.length);
});

test("variable sets × configurations: 20 sets of 1,000 configurations each, in a few statements", async () => {
  const { store } = plane.context;
  const { owner } = await addUser(plane);
  const { id: login_id } = await readRow(plane, "logins", { user_id: owner.id });
  const caller = { ...callerOf(owner), login_id };
  const spec = await readRow(plane, "specs", { id: await addSpec(store, owner) });
  const specs = times(attachmentsLimit, () => uuid());
  for (let at = 0; at < specs.length; at += 200)
    await addRows(
      store,
      "specs",
      ...specs
        .slice(at, at + 200)
        .map((id) => ({ ...spec, id, name: id, project_name: id }) as never),
    );
  const sets = times(setsLimit + 1, () => uuid());
  await addRows(
    store,
    "variable_sets",
    ...sets.map((id) => ({
      id,
      owner_id: owner.id,
      name: id,
      definition: storedJson("{}"),
      definition_id: null,
      created_at: 1,
      updated_at: 1,
    })),
  );
  const [last = "", over = "", ...attached] = sets;
  for (const set_id of attached)
    await addRows(
      store,
      "variable_set_attachments",
      ...specs.map((spec_id) => ({ set_id, spec_id, zone_id: null })),
    );
  const { context, work } = counted(plane.context);
  const change = { configuration_ids: specs };
  const { configuration_ids } = await updateVariableSet(context, caller, last, change);
  expect(configuration_ids).toHaveLength(attachmentsLimit);
  expect(work.statements).toBeLessThan(25);
  expect(work.rows).toBeLessThan(5 * attachmentsLimit);
  const refused = updateVariableSet(context, caller, over, change);
  await expect(refused).rejects.toMatchObject({ code: "quota_exceeded" });
});
