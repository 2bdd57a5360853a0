/**
 * Costs that are a product of two things that a tenant controls (docs/limits.md): each test fills
 * both, and asserts a bound of the work, which does not depend on the machine.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import { describe, expect, test } from "vitest";
import { stepsOfChange, touches } from "../../control-plane/domain/changed-paths.ts";
import { stripRuns, tilesLimit } from "../../control-plane/console/overview/fleet-view.ts";
import { votesLimit } from "../../control-plane/services/approvals/approvals.ts";
import { listTiles } from "../../control-plane/services/configurations/tiles.ts";
import { listRuns } from "../../control-plane/services/jobs/runs.ts";
import { search, searchedNames } from "../../control-plane/services/search/search.ts";
import { approvalSteps } from "../helpers/people/approvals.ts";
import { callerOf } from "../helpers/people/caller.ts";
import { addMember, addTeam, addTeamSpec } from "../helpers/people/teams.ts";
import { addTestUser } from "../helpers/people/user.ts";
import { readRows } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { addJob, addOwner, addRows, addSpec } from "../helpers/plane/rows.ts";
import { proving } from "../helpers/project/proving.ts";
import { counted } from "../helpers/store/work.ts";

const { plane } = planeForFile();
const many = (moderate: number, large: number) => (proving ? large : moderate);

test("configurations × patterns × changed paths: a change has steps for all configurations together", async () => {
  const deep = "a/".repeat(500);
  const paths = Array.from({ length: many(50, 3000) }, (_, n) => `${deep}${n}`);
  const patterns = Array.from({ length: 50 }, (_, n) => `${"**/a/".repeat(100)}${n}b`);
  const changed = { paths, isCut: false };
  const other = { paths: ["other/x"], isCut: false };
  let undecided = 0;
  // A configuration that stops at its limit has used two million steps.
  for (let count = 0; count < stepsOfChange / 2_000_000; count += 1) {
    if (touches(changed, { directories: ["own"], patterns })) undecided += 1;
    await nextTurn();
  }
  expect(undecided).toBe(stepsOfChange / 2_000_000);
  // Nothing is left: even a short pattern is not tried.
  expect(touches(changed, { directories: ["own"], patterns: ["nothing"] })).toBe(true);
  expect(touches(other, { directories: ["own"], patterns: ["nothing"] })).toBe(false);
});

test("configurations × runs: the overview reads some of both, in three statements", async () => {
  const { store } = plane.context;
  const owner = await addOwner(store);
  const ended = { status: "SUCCESS", ended_at: 1, released_at: 1, claimed_at: 1 } as const;
  for (let count = 0; count < tilesLimit + 5; count += 1) {
    const spec_id = await addSpec(store, owner);
    const runs = many(count < 3 ? stripRuns + 10 : 1, 200);
    for (let run = 0; run < runs; run += 1) await addJob(store, owner, { spec_id, ...ended });
  }
  const { context, work } = counted(plane.context);
  const { tiles } = await listTiles(context, callerOf(owner), [], tilesLimit);
  await listRuns(
    context,
    tiles.map(({ id }) => id),
    stripRuns,
  );
  expect(work.statements).toBe(3);
  expect(work.rows).toBeLessThanOrEqual(2 * tilesLimit + 1 + tilesLimit * stripRuns);
});

test("names × letters: a search reads so many names, whatever the text is", async () => {
  const { store } = plane.context;
  const owner = await addOwner(store);
  for (let count = 0; count < many(30, 2000); count += 1)
    await addRows(store, "zones", {
      id: uuid(),
      owner_id: owner.id,
      name: String.fromCodePoint(0x410 + (count % 32)).repeat(100),
      created_at: count,
      updated_at: count,
    }).catch(() => undefined);
  const letters = Array.from({ length: 100 }, (_, at) => String.fromCodePoint(0x410 + at)).join("");
  const { context, work } = counted(plane.context);
  expect(await search(context, callerOf(owner), letters)).toEqual([]);
  expect(work.rows).toBeLessThanOrEqual(5 * searchedNames);
});

describe("waiting jobs × decisions", () => {
  test("a job keeps the decisions of so many people, and those may still change theirs", async () => {
    const { store } = plane.context;
    const admin = await addTestUser(plane);
    const team = await addTeam(plane, admin);
    const { spec, runner } = await addTeamSpec(plane, team.slug);
    const steps = approvalSteps(plane, team.calls, runner, spec);
    await steps.rule({ count: 5 });
    const job = await steps.deploy(await steps.plan());
    const voters = [];
    for (let count = 0; count < votesLimit; count += 1) {
      const user_id = (await addOwner(store)).id;
      const vote = { job_id: job.id, user_id, email: `${user_id}@example.com` };
      await addRows(store, "job_approvals", {
        ...vote,
        decision: "approve",
        comment: null,
        decided_at: 1,
      });
      voters.push(user_id);
    }
    const late = await addMember(plane, admin, team.slug, "deployer");
    const decide = (decision: "approve" | "reject") =>
      ({ params: { id: job.id }, body: { decision } }) as const;
    expect(await late.calls.refusal("decideJob", decide("approve"))).toBe("409 quota_exceeded");
    expect(await readRows(plane, "job_approvals", { job_id: job.id })).toHaveLength(votesLimit);
    await late.calls.call("decideJob", decide("reject"));
    expect((await late.calls.call("getJob", { params: { id: job.id } })).status).toBe("CANCELLED");
    expect(voters).toHaveLength(votesLimit);
  });
});
