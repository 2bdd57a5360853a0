import { expect, test } from "vitest";
import { teams } from "../../control-plane/commands/doctor/data-checks.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { readRow, setRows } from "../helpers/plane/plane.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { openPerson } from "../helpers/people/sign-in.ts";
import { callsWithin, openTeam } from "../helpers/people/teams.ts";

const { plane } = planeForFile();

test("windlass server teams admin repairs a team that has lost its admins", async () => {
  const { slug, params } = await openTeam(plane);
  const { id: space_id } = await readRow(plane, "teams", { slug });
  // The last admin was one by a group.
  await setRows(plane, "memberships", { role: "viewer", invited_role: "viewer" }, { space_id });
  const withoutAdmin = async () => (await teams(plane.context.store)).map(({ text }) => text);
  expect(await withoutAdmin()).toEqual([`without an admin: ${slug}`]);
  const ada = await openPerson(plane, "ada@example.com");
  const admin = (...words: string[]) =>
    windlass(["server", "teams", ...words], { env: { WINDLASS_DATA_DIR: plane.directory } });
  const made = await admin("admin", slug, "Ada@Example.com");
  expect([made.exitCode, made.stdout]).toEqual([
    0,
    expect.stringContaining(`ada@example.com is an admin of the team "${slug}" now`),
  ]);
  expect(await withoutAdmin()).toEqual([]);
  const calls = callsWithin(plane, ada.headers, slug);
  const { members } = await calls.call("listMembers", { params });
  expect(members).toContainEqual(
    expect.objectContaining({ email: "ada@example.com", role: "admin", sources: ["invited"] }),
  );
  const entry = await readRow(plane, "audit_entries", {
    owner_id: space_id,
    action: "member.join",
  });
  expect(entry).toMatchObject({ actor_kind: "operator", target_id: ada.id });
  // By the id too, and once.
  const again = await admin("admin", slug, ada.id);
  expect([again.exitCode, again.stdout]).toEqual([0, expect.stringContaining("already")]);
  expect(again.stderr).toBe("");
  await setRows(plane, "users", { blocked_at: 1 }, { id: ada.id });
  expect(await withoutAdmin()).toEqual([`without an admin: ${slug}`]);
  const blocked = await admin("admin", slug, ada.id);
  expect([blocked.exitCode, blocked.stderr]).toEqual([
    0,
    expect.stringContaining("warning: ada@example.com is blocked"),
  ]);
  for (const [words, code, says] of [
    [["admin", "none", "ada@example.com"], 1, 'there is no team "none"'],
    [["admin", slug, "eve@example.com"], 1, "no user of this server has the address"],
    [["admin", slug], 2, "pass SLUG and USER"],
    [["admni", slug, "ada@example.com"], 2, "has no command"],
  ] as const) {
    const refused = await admin(...words);
    expect([refused.exitCode, refused.stderr]).toEqual([code, expect.stringContaining(says)]);
  }
});
