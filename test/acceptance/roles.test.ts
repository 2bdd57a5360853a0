/**
 * Every endpoint and page of the server, called as every role of a team: with an access token, from
 * the client and from a browser. test/acceptance/tenancy.test.ts calls them as other users.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { permissionForJob } from "../../control-plane/domain/roles.ts";
import { teamHeader } from "../../protocol/limits.ts";
import type { JobType } from "../../protocol/jobs.ts";
import { roles } from "../../protocol/roles.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { callersOf, isOpen, isPage, kinds, leastRole, report, type Headers } from "./role-calls.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  readRow,
  setRows,
  stateHeaders,
} from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { makeSpace } from "../helpers/plane/role-space.ts";
import type { ServedRoute } from "../helpers/plane/routes.ts";
import { bearer } from "../helpers/people/sign-in.ts";
import { dump } from "../helpers/store/store-dump.ts";
import { join } from "../helpers/people/teams.ts";

const { plane, routes } = planeForFile({ WINDLASS_OFFLINE_SECONDS: "3600" });
const { check, newMember, newToken, send, sessionOf } = callersOf(plane);

describe("a member", () => {
  const called = () => routes.filter(({ endpoint }) => endpoint !== undefined);

  it("may do what the role permits and nothing else, by token, client and browser", async () => {
    const wrong: string[] = [];
    for (const role of roles)
      for (const kind of kinds) {
        const space = await makeSpace(plane);
        const headers =
          kind === "token"
            ? bearer((await newToken(space, role)).access_token)
            : (await newMember(space, role))[kind];
        wrong.push(...(await check(space, kind, role, headers, called())));
      }
    report(wrong);
  });

  it("may use the pages and forms of the console that the role permits, and no other", async () => {
    const wrong: string[] = [];
    for (const role of roles) {
      const space = await makeSpace(plane);
      const { session } = await newMember(space, role);
      wrong.push(...(await check(space, "session", role, session, routes.filter(isPage))));
    }
    report(wrong);
  });
});

/** What the token of a running job may do to the state of its configuration, beyond the routes. */
const stateRules: readonly [type: JobType, replaces: 200 | 409][] = [
  ["PLAN", 409],
  ["DEPLOY", 200],
  ["DESTROY", 200],
];

it("a job may replace the state only if who created it had to be a deployer", async () => {
  for (const [job_type, status] of stateRules) {
    expect(status === 200).toBe(permissionForJob(job_type, false) === "deploy");
    const { id, pathOf } = await makeSpace(plane);
    const path = pathOf("POST", "/api/state/:spec_id");
    const spec_id = path.split("/").at(-1) ?? "";
    await setRows(plane, "jobs", { released_at: 1 }, { spec_id });
    await setRows(plane, "state_locks", { job_id: "gone" }, { spec_id });
    await setRows(plane, "state_versions", { resource_count: 3 }, { spec_id });
    const owner = { id, zone: (await readRow(plane, "specs", { id: spec_id })).zone_id };
    const worker = await addTestWorker(plane, owner);
    const job = await addHeldJob(plane, owner, worker, { spec_id, job_type });
    await setRows(plane, "state_locks", { job_id: job.id }, { spec_id });
    const { lineage } = await readRow(plane, "state_versions", { spec_id });
    const json = { version: 4, serial: 2, lineage, outputs: {}, resources: [] };
    const headers = stateHeaders(plane, job);
    const answer = await ask(plane, "POST", `${path}?ID=lock`, { headers, json });
    expect([job_type, answer.status]).toEqual([job_type, status]);
  }
});

it("a person may do everything with their own things, whatever they are in a team", async () => {
  const wrong: string[] = [];
  const inTeam = ({ url }: ServedRoute) => url.includes("/teams/:slug");
  for (const kind of ["cli", "session"] as const) {
    const space = await makeSpace(plane, true);
    const team = await makeSpace(plane);
    const { id, headers } = space.admin;
    await join(plane, team.admin, team.slug, space.admin, "viewer");
    const own = kind === "cli" ? headers : await sessionOf(id);
    const called = routes.filter((one) => one.endpoint !== undefined && !inTeam(one));
    wrong.push(...(await check(space, kind, "admin", own, called)));
  }
  report(wrong);
});

it("no credential that has ended, or is of another team, opens anything of a team", async () => {
  const [space, elsewhere] = [await makeSpace(plane), await makeSpace(plane)];
  const admin = await newMember(elsewhere, "admin");
  const removed = await newMember(space, "admin");
  const own = callsOf(plane, removed.cli);
  const kept = await own.call("createAccessToken", {
    body: { name: "kept by", role: "admin" },
  });
  const params = { slug: space.slug, user_id: removed.userId };
  await space.admin.client.call("removeMember", { params });
  const [expired, revoked] = [
    await newToken(space, "admin", "expired"),
    await newToken(space, "admin", "revoked"),
  ];
  await setRows(plane, "access_tokens", { expires_at: 1 }, { id: expired.id });
  await space.client.call("revokeAccessToken", { params: { id: revoked.id } });
  const outsiders: Record<string, Headers> = {
    "a caller without a credential": {},
    "an admin of another team": admin.cli,
    "an admin of another team in a browser": admin.session,
    "an admin's token of another team": bearer((await newToken(elsewhere, "admin")).access_token),
    "a viewer of another team": (await newMember(elsewhere, "viewer")).cli,
    "a removed admin": removed.cli,
    "a removed admin in a browser": removed.session,
    "a removed admin's token": bearer(kept.access_token),
    "an expired token": bearer(expired.access_token),
    "a revoked token": bearer(revoked.access_token),
  };
  const stored = async () =>
    (await dump(plane)).filter((line) => [space.id, space.mark].some((one) => line.includes(one)));
  const before = await stored();
  const wrong: string[] = [];
  let asked = 0;
  for (const [name, { [teamHeader]: _, ...plain }] of Object.entries(outsiders))
    for (const headers of [plain, { ...plain, [teamHeader]: space.slug }])
      for (const route of routes) {
        const { method, url, endpoint } = route;
        const isAbout = teamHeader in headers || url.includes(":");
        // An invitation is for a person outside the team; the others belong to no space.
        const isOwn =
          /^\/(logout|invitations)|\/auth\/|^\/login/.test(url) || !(endpoint || isPage(route));
        const isForAll =
          endpoint !== undefined && leastRole("cli", route) === "other" && isOpen(url);
        if (!isAbout || isOwn || isForAll) continue;
        const answer = await send(space, route, headers, randomUUID());
        asked += 1;
        const isLogin =
          answer.status === 303 && String(answer.headers["location"]).startsWith("/login");
        const isRefused = (answer.status >= 400 && answer.status < 500) || isLogin;
        if (!isRefused || answer.text.includes(space.mark))
          wrong.push(`${name}: ${method} ${url}: ${answer.status} ${answer.text.slice(0, 300)}`);
      }
  process.stdout.write(`${asked} requests from outside, ${wrong.length} accepted\n`);
  expect(wrong).toEqual([]);
  expect(await stored()).toEqual(before);
});
