/** Deployments that people must approve: the client, a real runner and real terraform. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { scratch, startAgent, until } from "../helpers/agent/agent-process.ts";
import { clientUser, joinTeam } from "./client-user.ts";
import { copyFixture } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { startCommand } from "../helpers/cli/running-command.ts";

const { plane } = planeForFile();
const roles = ["planner", "deployer", "viewer"] as const;

/** An admin, a planner, a deployer and a viewer, who act in one team, and the team's runner. */
async function openTeam() {
  const stack = new AsyncDisposableStack();
  const user = async () => stack.use(await clientUser(plane));
  const [ada, pat, dan, eve] = [await user(), await user(), await user(), await user()];
  const slug = (await ada.json<{ slug: string }>("teams", "create", "Platform")).slug;
  for (const [index, member] of [pat, dan, eve].entries())
    await joinTeam(plane, ada, slug, member, roles[index] ?? "");
  for (const one of [ada, pat, dan, eve]) await one.run(["teams", "use", slug]);
  await ada.json("zones", "create", "production");
  const { path } = stack.use(scratch());
  const addRunner = async (name: string, more: Record<string, string> = {}): Promise<void> => {
    const { registration_token } = await ada.json<Record<string, string>>("tokens", "create");
    const runner = stack.use(
      startAgent({
        WINDLASS_URL: plane.url,
        WINDLASS_WORK_DIR: join(path, name),
        WINDLASS_REGISTRATION_TOKEN: registration_token ?? "",
        WINDLASS_WORKER_NAME: name,
        ...more,
      }),
    );
    await until(() => runner.log().includes("ready for jobs"));
  };
  await addRunner("runner");
  return {
    ada,
    pat,
    dan,
    eve,
    slug,
    addRunner,
    /** Creates a configuration with a rule. */
    configure: async (name: string, ...rule: string[]): Promise<string> => {
      const directory = copyFixture("success-cluster", join(path, name));
      await ada.json("configurations", "create", "--dir", directory, ...rule);
      return directory;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

let team: Awaited<ReturnType<typeof openTeam>>;
beforeAll(async () => {
  team = await openTeam();
});
afterAll(() => team[Symbol.asyncDispose]());

describe.concurrent("a deployment that people must approve", () => {
  test("waits, says for whom, and is applied after the approval", async () => {
    const { ada, pat, dan, eve, configure } = team;
    await configure("network", "--approvals", "1");
    expect((await eve.run(["configurations", "show", "network"])).stdout).toMatch(
      /^approvals +Every deployment needs 1 approval by a deployer other than its authors\.$/m,
    );
    const direct = await dan.run(["jobs", "deploy", "network"]);
    expect(direct).toMatchObject({ exitCode: 1, stdout: "" });
    expect(direct.stderr).toContain(
      "Run: windlass jobs plan network --wait --team platform, then: windlass jobs deploy network --plan - --wait --team platform",
    );

    const planned = await pat.run(["jobs", "plan", "network", "--wait"]);
    expect(planned).toMatchObject({ exitCode: 0 });
    await using deployment = startCommand(
      ["jobs", "deploy", "network", "--plan", "-", "--wait"],
      dan.env,
    );
    const reason = `waits for 1 approval by a deployer other than ${dan.email} and ${pat.email}`;
    const told = await deployment.says(`Deployment of "network": ${reason}`);
    const id = /Queued as job (\S+)\./.exec(told)?.[1] ?? "";
    expect(told).toContain(`It ${reason}. ${ada.email} can approve it.`);
    expect(told).toContain(`in the console: ${plane.url}/jobs/${id}\n`);
    expect(told).toContain(`windlass jobs approve ${id} --team platform\n`);
    expect(told).toContain(`windlass jobs reject ${id} --team platform\n`);

    const shown = (await eve.run(["jobs", "show", "network/-"])).stdout;
    expect(shown).toMatch(new RegExp(`^waiting +${reason}$`, "m"));
    expect(shown).toMatch(/^rule +always, 1 person$/m);
    expect(shown).toMatch(new RegExp(`^approvers +${ada.email} can approve it\\.$`, "m"));
    expect((await eve.run(["jobs", "list"])).stdout).toMatch(
      /^DEPLOY +network +QUEUED, waiting for approval +\+/m,
    );
    const waiting = ["jobs", "list", "--waiting-for-me", "--configuration", "network"];
    expect(await ada.json<Job[]>(...waiting)).toMatchObject([
      { id, approvals: [], approval_need: { missing: 1, approvers: [ada.email] } },
    ]);
    const offered = await ada.run(["completion", "bash", "--names", "approvals"]);
    expect(offered.stdout).toContain(`${id}\tdeployment of "network", QUEUED`);
    const none = await dan.run(waiting);
    expect(none).toMatchObject({ exitCode: 0, stdout: "" });
    expect(none.stderr).toContain("waits for your approval");

    for (const [person, why] of [
      [eve, "This needs the role deployer. You have the role viewer."],
      [pat, "This needs the role deployer. You have the role planner."],
      [dan, "someone else must decide"],
    ] as const) {
      const refused = await person.run(["jobs", "approve", id]);
      expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
      expect(refused.stderr).toContain(why);
    }
    const approved = await ada.run(["jobs", "approve", "network/-", "--comment", "as planned"]);
    expect(approved).toMatchObject({ exitCode: 0 });
    expect(approved.stderr).toContain("Approved. A runner may run it now.");

    const done = await deployment.ended();
    expect(done).toMatchObject({ exitCode: 0 });
    expect(done.stdout).toContain("Apply complete!");
    expect(await dan.json<string[]>("state", "list", "network")).toContain(
      "terraform_data.cluster",
    );
    const after = (await eve.run(["jobs", "show", id])).stdout;
    expect(after).toMatch(
      new RegExp(`^approvals +${ada.email} approved \\S.* ago: as planned$`, "m"),
    );
    const late = await ada.run(["jobs", "approve", id]);
    expect(late).toMatchObject({ exitCode: 1, stdout: "" });
    expect(late.stderr).toContain("The job is already SUCCESS");
  });

  test("is brought up or destroyed by its plan, and ends when someone rejects it", async () => {
    const { ada, dan, configure } = team;
    const directory = await configure("dns", "--approvals", "2");
    await using up = startCommand(["up", directory, "--adopt", "--yes"], dan.env);
    const told = await up.says(
      'Deployment of "dns": waits for 2 approvals by deployers other than',
    );
    const id = /windlass jobs approve (\S+)/.exec(told)?.[1] ?? "";
    const half = await ada.run(["jobs", "approve", id]);
    expect(half.stderr).toContain("Approved. It still needs 1 approval by a deployer.");
    expect((await ada.run(["jobs", "approve", id])).stderr).toContain("counts once");
    await up.says('Deployment of "dns": waits for 1 approval by a deployer other than');
    up.interrupt();
    const detached = await up.ended();
    expect(detached).toMatchObject({ exitCode: 130 });
    expect(detached.stdout).toContain("Every deployment needs 2 approvals by deployers");
    expect(detached.stderr).toContain(`windlass jobs logs ${id} --follow`);
    expect(await ada.json("jobs", "show", id)).toMatchObject({ status: "QUEUED" });
    await ada.json("configurations", "update", "dns", "--approvals", "1");
    expect(await dan.run(["jobs", "logs", id, "--follow"])).toMatchObject({ exitCode: 0 });

    await using destruction = startCommand(["jobs", "destroy", "dns", "--yes", "--wait"], dan.env);
    await destruction.says('"dns": waits for 1 approval by a deployer other than');
    const rejected = await ada.run(["jobs", "reject", "dns/-", "--comment", "not on a Friday"]);
    expect(rejected).toMatchObject({ exitCode: 0 });
    expect(rejected.stdout).toMatch(/^status +CANCELLED$/m);
    const ended = await destruction.ended();
    expect(ended).toMatchObject({ exitCode: 1 });
    expect(ended.stdout).toMatch(/^Plan: \d+ to destroy$/m);
    expect(ended.stderr).toContain(`was cancelled: rejected by ${ada.email}: not on a Friday`);
    expect(await dan.json<string[]>("state", "list", "dns")).toContain("terraform_data.cluster");

    const queued = await dan.run(["up", directory, "--yes", "--no-wait", "--var", "region=eu"]);
    expect(queued).toMatchObject({ exitCode: 0 });
    expect(queued.stdout).toMatch(/^status +QUEUED$/m);
    expect(queued.stderr).toContain("Queued. Nothing is deployed yet.");
    expect(queued.stderr).toContain(`${ada.email} can approve it.`);
  });

  test("fails if its plan went stale between the approval and the claim", async () => {
    const { ada, dan, configure, addRunner } = team;
    await configure("web", "--approvals", "1", "--approvals-for", "destructive");
    await dan.json("jobs", "plan", "web", "--wait");
    const first = await dan.run(["jobs", "deploy", "web", "--plan", "-", "--wait"]);
    // It only creates.
    expect(first).toMatchObject({ exitCode: 0 });
    await addRunner("second", { WINDLASS_LABELS: "second" });
    await dan.json("jobs", "plan", "web", "--destroy", "--label", "second", "--wait");
    // The only runner with this label takes no jobs, so nothing claims the approved deployment.
    await ada.run(["workers", "drain", "second"]);
    const [plan] = await dan.json<Job[]>("jobs", "list", "--configuration", "web", "--limit", "1");
    const words = ["jobs", "deploy", "--plan", plan?.id ?? "", "--label", "second"];
    const { id } = await dan.json<Job>(...words);
    await ada.json("jobs", "approve", id);
    expect(await dan.json("jobs", "show", id)).toMatchObject({
      waiting_reason: "workers_draining",
      approval_need: { missing: 0 },
    });
    await ada.json("configurations", "update", "web", "--var", "region=eu-west-1");
    const shown = (await dan.run(["jobs", "show", id])).stdout;
    const again = "windlass jobs destroy web --team platform";
    expect(shown).toMatch(/^stale +Its plan can no longer be applied\. The configuration or one/m);
    expect(shown).toContain(`so plan again: ${again}\n`);
    const idle = await ada.run(["jobs", "approve", id]);
    expect(idle).toMatchObject({ exitCode: 1, stdout: "" });
    expect(idle.stderr).toContain("Not approved. Its plan can no longer be applied.");
    expect(idle.stderr).toContain(`windlass jobs reject ${id} --team platform`);
    await ada.run(["workers", "undrain", "second"]);
    const ended = await dan.run(["jobs", "logs", id, "--follow"]);
    expect(ended).toMatchObject({ exitCode: 1 });
    expect(ended.stderr).toContain("was changed after the plan was made");
    expect(await dan.json<string[]>("state", "list", "web")).toContain("terraform_data.cluster");
    const late = await ada.run(["jobs", "approve", id]);
    expect(late.stderr).toContain("The job is already FAILED");
  });
});
