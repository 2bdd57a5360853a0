/** The client of people and access tokens with roles in zones. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { followDefaults } from "../../../protocol/follow.ts";
import type { Role } from "../../../protocol/roles.ts";
import { scratch } from "../../helpers/agent/agent-process.ts";
import { windlass } from "../../helpers/cli/windlass.ts";
import { recordRequests } from "../../helpers/network/seen-requests.ts";
import { addMember, addTeam } from "../../helpers/people/teams.ts";
import { addTestUser } from "../../helpers/people/user.ts";
import { addHeldJob, addTestWorker, readRow, setJob } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addRows, addSpec } from "../../helpers/plane/rows.ts";

const { plane } = planeForFile();
let tokens = 0;

/** A team with a zone, and callers with a role there. */
async function openZone() {
  const { store } = plane.context;
  const admin = await addTestUser(plane);
  const { slug, calls } = await addTeam(plane, admin);
  const { id: zone } = await calls.call("createZone", { body: { name: "sandbox" } });
  const owner = { id: (await readRow(plane, "teams", { slug })).id, zone };
  const spec = await addSpec(store, owner);
  /** Returns commands of a member, and of an access token, each with its options. */
  const callers = async (role: Role | null, inZone: Role) => {
    const zones = { [zone]: inZone };
    const member = await addMember(plane, admin, slug, { role, zones });
    const name = `ci-${(tokens += 1)}`;
    const body = { name, role, zones };
    const { access_token } = await calls.call("createAccessToken", { body });
    const token = { ...member.environment, WINDLASS_TOKEN: access_token };
    const way = (env: Record<string, string>) => async (words: readonly string[]) => {
      const { exitCode, stdout, stderr } = await windlass(words, { env });
      return { exitCode, stdout: String(stdout), stderr: String(stderr) };
    };
    return [
      { who: "You have", run: way({ ...member.environment, WINDLASS_TEAM: slug }) },
      { who: `The access token "${name}" has`, run: way(token) },
    ];
  };
  return { store, slug, calls, owner, spec, callers };
}

test("the client refuses no role in a zone that may be enough", async () => {
  using directory = scratch();
  writeFileSync(join(directory.path, "main.tf"), "");
  const { slug, spec, callers } = await openZone();
  const update = ["configurations", "update", spec, "--dir", directory.path];
  for (const { who, run } of await callers("viewer", "planner"))
    for (const words of [update, ["up", directory.path, "--yes"]])
      expect((await run(words)).stderr).toMatch(
        new RegExp(
          `This needs the role deployer\\. ${who} at most the role planner, in some zones\\. Nothing was done\\.$`,
        ),
      );
  for (const role of ["viewer", null] as const)
    for (const { run } of await callers(role, "deployer"))
      expect(await run(update)).toMatchObject({ exitCode: 0 });
  // The question is not asked either: the team is not in a zone.
  const [{ run } = { run: undefined }] = await callers(null, "admin");
  expect((await run!(["teams", "delete", slug])).stderr).toContain(
    "This needs the role admin. You have roles in some zones only. Nothing was done.",
  );
});

test("roles in zones are given with one look at the zones", async () => {
  const { slug, calls, callers } = await openZone();
  const [admin] = await callers("admin", "viewer");
  const { members } = await calls.call("listMembers", { params: { slug } });
  using seen = recordRequests();
  const change = ["teams", "members", "update", members[0]!.user_id, "--zone", "sandbox=viewer"];
  expect(await admin!.run(change)).toMatchObject({ exitCode: 0 });
  expect(seen.requests.filter(({ url }) => url?.startsWith("/api/cli/zones"))).toHaveLength(1);
});

test("what belongs to the whole team has its name, its id or is left out", async () => {
  const { store, calls, owner, spec, callers } = await openZone();
  const { id: identity } = await calls.call("createCloudIdentity", {
    body: { name: "cloud", provider: "aws", role_arn: "arn:aws:iam::123456789012:role/i" },
  });
  const change = { params: { name: spec }, body: { cloud_identity_id: identity } };
  await calls.call("updateConfiguration", change);
  const { id } = await calls.call("createVariableSet", { body: { name: "common" } });
  const attached = { configuration_ids: [spec] };
  await calls.call("updateVariableSet", { params: { id }, body: attached });
  const { id: connection_id } = await calls.call("createConnection", {
    body: { name: "host", kind: "forgejo", base_url: "https://git.invalid", credential: "t" },
  });
  const followed = { spec_id: spec, connection_id, repository_id: "1", repository: "ada/infra" };
  const settings = JSON.stringify({ ...followDefaults, webhook_problem: null });
  const more = { branch: "main", settings, seen_commit: null, look_at: 1e15, updated_at: 1 };
  await addRows(store, "follows", { ...followed, ...more });
  const worker = await addTestWorker(plane, owner);
  for (const { run } of await callers(null, "deployer")) {
    const job = await addHeldJob(plane, owner, worker, { spec_id: spec, started_at: 1 });
    const shown = await run(["configurations", "show", spec]);
    expect(shown).toMatchObject({ exitCode: 0, stderr: "" });
    for (const line of [
      "identity +cloud",
      "variable sets +common .*",
      `follows +main of ada/infra \\(connection "${connection_id}"\\)`,
    ])
      expect(shown.stdout).toMatch(new RegExp(`^${line}$`, "m"));
    for (const named of ["cloud", identity])
      expect(await run(["configurations", "update", spec, "--identity", named])).toMatchObject({
        exitCode: 0,
      });
    const read = await run(["jobs", "show", job.id]);
    expect(read).toMatchObject({ exitCode: 0, stderr: "" });
    expect(read.stdout).toMatch(new RegExp(`^worker +${worker.id}$`, "m"));
    const cancelled = await run(["jobs", "cancel", job.id]);
    expect(cancelled).toMatchObject({ exitCode: 0 });
    expect(cancelled.stderr).toContain("is cancelled; its runner stops terraform, unless it is");
    // Only one job of a configuration is held at a time.
    await setJob(plane, job, { released_at: 3 });
  }
});
