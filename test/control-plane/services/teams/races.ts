/**
 * Members, roles, tokens and invitations that end while their people act, at one control plane or at
 * two: each round has one honest outcome, and the audit log has nothing by anyone after their end.
 */
import { describe, expect, test } from "vitest";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { ask, type Plane } from "../../../helpers/plane/plane.ts";
import { patience, repeat, type Planes } from "../../../helpers/plane/races.ts";
import { addSpec } from "../../../helpers/plane/rows.ts";
import { bearer, openPerson } from "../../../helpers/people/sign-in.ts";
import {
  addMember,
  addTeam,
  addTeamSpec,
  callsWithin,
  join,
} from "../../../helpers/people/teams.ts";
import { addTestUser, type TestUser } from "../../../helpers/people/user.ts";

async function newTeam({ first, second }: Planes) {
  const admin = await addTestUser(first);
  const { slug, params, calls } = await addTeam(first, admin);
  const { space, worker, runner } = await addTeamSpec(first, slug);
  return {
    admin,
    slug,
    params,
    /** The API as the admin calls it within the team. */
    calls,
    space,
    runner,
    runnerBeside: callsOf(second, worker.headers),
    within: ({ headers }: TestUser) => callsWithin(first, headers, slug),
    beside: ({ headers }: TestUser) => callsWithin(second, headers, slug),
    /** The newest entries of the team's audit log, the newest first. */
    audit: async () =>
      (await calls.call("listAuditEntries", { query: { limit: 30 } })).audit_entries,
  };
}
type Team = Awaited<ReturnType<typeof newTeam>>;

/** What someone did after the newest entry with this action. */
async function doneAfter({ audit }: Team, action: string, who: string): Promise<string[]> {
  const entries = await audit();
  const end = entries.findIndex((entry) => entry.action === action);
  if (end < 0) throw new Error(`the audit log has no ${action}`);
  return entries
    .slice(0, end)
    .filter(({ actor }) => actor.name?.includes(who))
    .map((entry) => entry.action);
}

/** The outcomes of requests: `ok`, or the refusal. */
const outcomes = (requests: Promise<string>[]): Promise<string[]> =>
  Promise.all(requests.map(async (one) => (await one).replace("not refused", "ok")));

const emailOf = ({ owner }: TestUser): string => `${owner.id}@example.com`;

/** How long event streams outlived their member, at the other control plane. */
export const streamEnds: number[] = [];

/** Defines the races. */
export function teamRaces(find: () => Planes): void {
  const race = async (
    prepare: (planes: Planes) => Promise<(round: number) => Promise<void>>,
  ): Promise<void> => repeat(await prepare(find()));

  describe("at the same time", () => {
    test(
      "a removal ends an open event stream, after which the member gets nothing",
      { timeout: patience },
      () =>
        race(async (planes) => {
          const { first, second } = planes;
          const isOne = first.url === second.url && !first.context.store.isShared;
          const team = await newTeam(planes);
          const { admin, slug, runner, calls } = team;
          const member = await addTestUser(first);
          const params = { slug, user_id: member.owner.id };
          const spec = await addSpec(first.context.store, team.space);
          const { id } = await calls.call("createJob", {
            body: { job_type: "PLAN", configuration_id: spec },
          });
          const { job } = await runner.call("claimJob");
          expect(job.id).toBe(id);
          let seq = 0;
          const say = async () => {
            seq += 1;
            const body = { seq, stream_type: "STDOUT", log_chunk: `line ${seq};` } as const;
            await runner.call("appendLogs", { params: job, body });
            return seq;
          };
          return async () => {
            await join(first, admin, slug, member, "viewer");
            const newest = await say();
            const stream = await fetch(`${second.url}/api/jobs/${id}/logs/stream`, {
              headers: { ...member.headers, "last-event-id": String(0) },
            });
            expect(stream.status).toBe(200);
            let text = "";
            const reading = (async () => {
              for await (const chunk of stream.body!) text += Buffer.from(chunk).toString();
            })().catch(() => undefined);
            await expect.poll(() => text).toContain(`line ${newest};`);
            const [before] = await Promise.all([
              say(),
              admin.client.call("removeMember", { params }),
            ]);
            const removed = performance.now();
            const after = await say();
            await reading;
            streamEnds.push(performance.now() - removed);
            // From another process or database it may come as early as the news of the removal.
            if (isOne) expect(text).not.toContain(`line ${after};`);
            expect(text).not.toContain("event: end");
            const lines = [...text.matchAll(/line (\d+);/g)].map(([, n]) => Number(n));
            expect(lines).toEqual(lines.map((_, n) => n + 1));
            expect([newest, before, after]).toContain(lines.length);
            for (const plane of [first, second])
              expect(await callsOf(plane, member.headers).refusal("getJob", { params: job })).toBe(
                "404 not_found",
              );
          };
        }),
    );

    test(
      "a job of a member who is removed or demoted is queued before that, or not at all",
      { timeout: patience },
      () =>
        race(async (planes) => {
          const team = await newTeam(planes);
          const { admin, slug, calls, runner, runnerBeside } = team;
          const member = await addTestUser(planes.first);
          const params = { slug, user_id: member.owner.id };
          const configuration_id = await addSpec(planes.first.context.store, team.space);
          const body = { job_type: "DEPLOY", configuration_id } as const;
          const within = team.beside(member);
          return async (round) => {
            await join(planes.first, admin, slug, member, "deployer");
            const own = await within.call("createJob", { body });
            expect((await runner.call("claimJob")).job.id).toBe(own.id);
            await runner.call("reportStatus", { params: own, body: { status: "PROCESSING" } });
            const isRemoval = round % 2 === 0;
            const [made] = await Promise.all([
              within.ask("createJob", { body }).then(
                (job) => job!.id,
                (error: { status: number; code: string }) => `${error.status} ${error.code}`,
              ),
              isRemoval
                ? admin.client.call("removeMember", { params })
                : admin.client.call("updateMember", { params, body: { role: "viewer" } }),
              // What has started goes on.
              runnerBeside.call("reportStatus", { params: own, body: { status: "SUCCESS" } }),
            ]);
            expect((await calls.call("getJob", { params: own })).status).toBe("SUCCESS");
            const action = isRemoval ? "member.remove" : "member.update";
            expect(await doneAfter(team, action, emailOf(member))).toEqual([]);
            const next = await runnerBeside.ask("claimJob");
            // What was queued belongs to the team and runs.
            if (next) {
              expect(next.job.id).toBe(made);
              await runner.call("reportStatus", { params: next.job, body: { status: "SUCCESS" } });
            } else
              expect(["403 permission_denied", "404 not_found", "404 team_not_found"]).toContain(
                made,
              );
            expect(await within.refusal("createJob", { body })).toBe(
              isRemoval ? "404 team_not_found" : "403 permission_denied",
            );
            if (!isRemoval) await admin.client.call("removeMember", { params });
          };
        }),
    );

    test("an admin who is removed keeps no secret that was being made", { timeout: patience }, () =>
      race(async (planes) => {
        const team = await newTeam(planes);
        const { admin, slug, params, calls } = team;
        const member = await addTestUser(planes.first);
        const one = { slug, user_id: member.owner.id };
        const [within, beside] = [team.within(member), team.beside(member)];
        const allowed = ["ok", "403 permission_denied", "404 team_not_found"];
        return async (round) => {
          await join(planes.first, admin, slug, member, "admin");
          const made = await outcomes([
            within.refusal("createRegistrationToken", { body: {} }),
            beside.refusal("createRegistrationToken", { body: {} }),
            beside.refusal("createAccessToken", { body: { name: `${round}`, role: "admin" } }),
            beside.refusal("createInvitation", { params, body: { role: "admin" } }),
            admin.client.refusal("removeMember", { params: one }),
          ]);
          expect(made.pop()).toBe("ok");
          for (const outcome of made) expect(allowed).toContain(outcome);
          expect(await doneAfter(team, "member.remove", emailOf(member))).toEqual([]);
          const { registration_tokens } = await calls.call("listRegistrationTokens");
          const { access_tokens } = await calls.call("listAccessTokens");
          const { invitations } = await calls.call("listInvitations", { params });
          expect([registration_tokens, access_tokens, invitations].flat()).toEqual([]);
        };
      }),
    );

    test(
      "of the last two admins who leave, demote or remove each other, one stays",
      { timeout: patience },
      () =>
        race(async (planes) => {
          const team = await newTeam(planes);
          const { slug, params } = team;
          const people = [
            team.admin,
            await addMember(planes.first, team.admin, slug, "admin"),
          ] as const;
          const own = ({ owner }: TestUser) => ({ slug, user_id: owner.id });
          const body = { role: "viewer" } as const;
          return async (round) => {
            const [ada, bob] = people;
            const [hers, his] = [team.within(ada), team.beside(bob)];
            const made = await outcomes(
              [
                () => [
                  hers.refusal("removeMember", { params: own(ada) }),
                  his.refusal("removeMember", { params: own(bob) }),
                ],
                () => [
                  hers.refusal("updateMember", { params: own(ada), body }),
                  his.refusal("updateMember", { params: own(bob), body }),
                ],
                () => [
                  hers.refusal("updateMember", { params: own(bob), body }),
                  his.refusal("updateMember", { params: own(ada), body }),
                ],
                () => [
                  hers.refusal("removeMember", { params: own(bob) }),
                  his.refusal("removeMember", { params: own(ada) }),
                ],
              ][round % 4]!(),
            );
            expect(made.filter((one) => one === "ok")).toHaveLength(1);
            expect(["409 last_admin", "403 permission_denied", "404 team_not_found"]).toContain(
              made.find((one) => one !== "ok"),
            );
            // The remaining admin lets the other one in again.
            const found = await Promise.all(
              people.map(
                async (person) =>
                  (await person.client.ask("listMembers", { params }).catch(() => null))?.members,
              ),
            );
            const members = found.find((list) => list !== undefined) ?? [];
            const admins = members.filter(({ role }) => role === "admin");
            expect(admins).toHaveLength(1);
            const isAda = admins[0]!.user_id === ada.owner.id;
            const [left, other] = isAda ? [ada, bob] : [bob, ada];
            if (members.length === 2)
              await left.client.call("updateMember", {
                params: own(other),
                body: { role: "admin" },
              });
            else await join(planes.first, left, slug, other, "admin");
          };
        }),
    );

    test("an access token does nothing after its revocation", { timeout: patience }, () =>
      race(async (planes) => {
        const team = await newTeam(planes);
        const { calls } = team;
        return async (round) => {
          const name = `token-${round}`;
          const token = await calls.call("createAccessToken", { body: { name, role: "deployer" } });
          const [here, there] = [planes.first, planes.second].map((plane) =>
            callsOf(plane, bearer(token.access_token)),
          ) as [ReturnType<typeof callsOf>, ReturnType<typeof callsOf>];
          const made = await outcomes([
            here.refusal("createZone", { body: { name: `a${round}` } }),
            there.refusal("createZone", { body: { name: `b${round}` } }),
            calls.refusal("revokeAccessToken", { params: token }),
            there.refusal("createZone", { body: { name: `c${round}` } }),
          ]);
          expect(made[2]).toBe("ok");
          for (const outcome of made) expect(["ok", "401 unauthenticated"]).toContain(outcome);
          expect(await doneAfter(team, "access_token.revoke", name)).toEqual([]);
          for (const pipeline of [here, there])
            expect(await pipeline.refusal("listZones")).toBe("401 unauthenticated");
        };
      }),
    );

    test(
      "an invitation that two people use while it is revoked lets in one or none",
      { timeout: patience },
      () =>
        race(async (planes) => {
          const { first, second } = planes;
          const { admin, slug, params, calls } = await newTeam(planes);
          const [ada, bob] = await Promise.all([openPerson(first), openPerson(first)]);
          const use = async (plane: Pick<Plane, "url">, cookie: string, path: string) =>
            `${(await ask(plane, "POST", path, { headers: { cookie, origin: plane.url } })).status}`;
          return async (round) => {
            const made = await admin.client.call("createInvitation", {
              params,
              body: { role: "viewer" },
            });
            const path = new URL(made.link).pathname;
            const [one, other, revoked] = await outcomes([
              use(first, ada.headers.cookie, path),
              use(second, bob.headers.cookie, path),
              round % 2 === 0
                ? Promise.resolve("404 not_found")
                : admin.client.refusal("revokeInvitation", { params: { slug, id: made.id } }),
            ]);
            const joined = [one, other].filter((status) => status === "303");
            const expected = revoked === "ok" ? 0 : 1;
            expect({ one, other, revoked, joined: joined.length }).toMatchObject({
              joined: expected,
            });
            expect(["ok", "404 not_found"]).toContain(revoked);
            const { members } = await calls.call("listMembers", { params });
            expect(members).toHaveLength(1 + expected);
            for (const { user_id } of members)
              if (user_id !== admin.owner.id)
                await admin.client.call("removeMember", { params: { slug, user_id } });
          };
        }),
    );
  });
}
