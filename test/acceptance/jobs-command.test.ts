/** `windlass jobs` against a real server, with a real runner and real terraform. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { testEngine } from "../helpers/agent/engines.ts";
import { scratch, until } from "../helpers/agent/agent-process.ts";
import { hour } from "../../common/units.ts";
import { setRows } from "../helpers/plane/plane.ts";
import { inlineSnapshot, longRunning } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { openTerminal } from "../helpers/machine/terminal.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";

const { plane } = planeForFile();

const cluster = inlineSnapshot("success-cluster", {
  variables: { cluster_name: { value: "prod" } },
});

describe.concurrent("windlass jobs", () => {
  test("plan --wait and deploy --plan print the log and the plan summary to a pipe", async () => {
    await using ada = await userMachine(plane, { agent: true });
    await ada.user.configure({ name: "prod", ...cluster });
    const plan = await ada.run("jobs", "plan", "prod", "--debug", "--wait");
    expect(plan).toMatchObject({ exitCode: 0 });
    expect(plan.stdout).toContain("will perform the following actions");
    expect(plan.stdout).toMatch(/^Plan: \d+ to add$/m);
    expect(plan.stdout).not.toContain("\u001b");
    expect(plan.stderr).toContain('The plan of "prod" succeeded after');
    const id = /--plan (\S+) --wait/.exec(String(plan.stderr))?.[1] ?? "";
    const shown = await ada.run("jobs", "show", id);
    expect(shown.stdout).toMatch(new RegExp(`^console +${plane.url}/jobs/${id}$`, "m"));
    expect(shown.stdout).toMatch(/^worker +runner$/m);
    expect(shown.stdout).toMatch(/^ +\+ terraform_data\.\w+/m);
    const { plan_summary } = await ada.json<{ plan_summary: PlanSummary }>(
      "jobs",
      "show",
      id,
      "--plan",
    );
    expect(plan_summary.counts.create).toBeGreaterThan(0);
    expect(shown.stdout).toMatch(/^debug log +\d+ bytes, packed: windlass jobs debug-log /m);
    const debug = await ada.run("jobs", "debug-log", id);
    expect(debug.stdout).toContain("[DEBUG]");
    using place = scratch();
    const file = join(place.path, "debug.log");
    expect(await ada.run("jobs", "debug-log", id, "--output", file)).toMatchObject({
      exitCode: 0,
      stdout: "",
    });
    expect(readFileSync(file, "utf8").trimEnd()).toBe(debug.stdout);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const nowhere = join(place.path, "none", "debug.log");
    const refused = await ada.run("jobs", "debug-log", id, "--output", nowhere);
    expect(refused).toMatchObject({ exitCode: 1 });
    expect(refused.stderr).toContain(`"${nowhere}" cannot be written`);

    const deployed = await ada.json<Job>("jobs", "deploy", "prod", "--plan", "-", "--wait");
    expect(deployed).toMatchObject({ status: "SUCCESS", plan_job_id: id });
    const none = await ada.run("jobs", "debug-log", deployed.id);
    expect(none).toMatchObject({ exitCode: 1, stdout: "" });
    expect(none.stderr).toContain("debug log");
    const again = await ada.run("jobs", "deploy", "--plan", id);
    expect(again).toMatchObject({ exitCode: 1, stdout: "" });
    expect(again.stderr).toMatch(/^windlass: .*plan/i);

    const listed = await ada.json<Job[]>("jobs", "list", "--limit", "1");
    expect(listed.map(({ job_type }) => job_type)).toEqual(["DEPLOY"]);
    const table = await ada.run("jobs", "list", "--status", "success");
    expect(String(table.stdout).split("\n")).toHaveLength(3);
    expect(table.stdout).toMatch(
      /^PLAN +prod +SUCCESS +\+\d+ +\S+@\S+ +.+ ago +.+ +[\da-f-]{36}$/m,
    );
    const logs = await ada.run("jobs", "logs", deployed.id);
    expect(logs.stdout).toContain("Apply complete!");
    const chunks = String((await ada.run("jobs", "logs", deployed.id, "--json")).stdout).split(
      "\n",
    );
    const text = chunks
      .map((line) => (JSON.parse(line) as { log_chunk: string }).log_chunk)
      .join("");
    expect(text).toContain("Apply complete!");
    expect(await ada.run("jobs", "logs", deployed.id, "--follow")).toMatchObject({
      exitCode: 0,
      stdout: logs.stdout,
    });
  });

  test("ends with 1 for a failed job, and retry creates a new job", async () => {
    await using ada = await userMachine(plane, { agent: true });
    await ada.user.configure({ name: "broken", ...inlineSnapshot("fail-plan") });
    const failed = await ada.run("jobs", "plan", "broken", "--wait", "--json");
    expect(failed.exitCode).toBe(1);
    const job = JSON.parse(failed.stdout as string) as Job;
    expect(job.status).toBe("FAILED");
    // With --json, stdout has the data and the log goes to stderr.
    expect(failed.stderr).toMatch(/windlass: The plan of "broken" failed after .*: plan failed/);
    const again = await ada.json<Job>("jobs", "retry", job.id);
    expect(again).toMatchObject({ job_type: "PLAN" });
    expect(again.id).not.toBe(job.id);
    expect((await ada.run("jobs", "logs", again.id, "-f")).exitCode).toBe(1);
  });

  test("retry of a deployment of a plan makes a new plan, and says so", async () => {
    await using ada = await userMachine(plane, { agent: true });
    const files = { "main.tf": 'output "a" {\n  value = 1\n}\n' };
    await ada.user.configure({ name: "small", source: { type: "inline", files } });
    const { id } = await ada.json<Job>("jobs", "plan", "small", "--wait");
    // As if the worker had had this label when it ran the plan.
    await setRows(plane, "jobs", { labels: '["none"]' }, { id });
    const deploy = await ada.json<Job>("jobs", "deploy", "--plan", id, "--label", "none");
    await ada.json("jobs", "cancel", deploy.id);
    const again = await ada.run("jobs", "retry", deploy.id);
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.stdout).toMatch(/^type +PLAN$/m);
    expect(again.stderr).toMatch(
      /^Retrying the deployment of "small" \(job \S+\), which was cancelled\.\nThis is a new plan\. Nothing is applied yet\. The earlier plan was not applied either\./,
    );
    const twice = await ada.run("jobs", "retry", "small/-");
    expect(twice).toMatchObject({ exitCode: 1, stdout: "" });
    expect(twice.stderr).toMatch(
      /^windlass: The plan of "small" \(job \S+\) is QUEUED, .*latest job/,
    );
    const made = /^id +(\S+)$/m.exec(String(again.stdout))?.[1] ?? "";
    expect(again.stderr).toContain(`To deploy it then: windlass jobs deploy --plan ${made} --wait`);
    const second = await ada.run("jobs", "retry", deploy.id);
    expect(second).toMatchObject({ exitCode: 1, stdout: "" });
    expect(second.stderr).toContain(
      `queued since: the plan of "small" (job ${made}), which is QUEUED`,
    );
  });

  test("destroy --yes says what it destroys, and that nothing is destroyed yet", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({ name: "small", ...cluster });
    const queued = await ada.run("jobs", "destroy", "small", "--yes");
    expect(queued).toMatchObject({ exitCode: 0 });
    expect(queued.stderr).toMatch(/^Destroying everything that "small" has deployed\./m);
    expect(queued.stderr).toContain("Nothing is destroyed yet; to wait for it, pass --wait.");
    expect(await ada.json("jobs", "list", "--type", "DESTROY")).toHaveLength(1);
    await ada.json("jobs", "destroy", "small", "--yes");
    const part = await ada.run("jobs", "list", "--limit", "1");
    expect(part.stderr).toBe("There are older jobs. To list more, pass a higher --limit.");
    const json = await ada.run("jobs", "list", "--limit", "1", "--json");
    expect(json.stderr).toBe(part.stderr);
  });

  test("prints why a job waits; Ctrl-C detaches with 130 and prints how to follow it", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({ name: "waiting", ...cluster });
    const run = windlass(["jobs", "plan", "waiting", "--wait"], { env: ada.environment });
    let output = "";
    run.stderr?.on("data", (text: Buffer) => {
      output += text.toString();
    });
    await until(() => output.includes("There is no worker yet"));
    run.kill("SIGINT");
    const { exitCode, stdout, stderr } = await run;
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
    const id = /windlass jobs logs (\S+) --follow\n/.exec(stderr as string)?.[1] ?? "";
    const shown = await ada.json<Job>("jobs", "show", id);
    expect(shown).toMatchObject({ status: "QUEUED", waiting_reason: "no_matching_worker" });
    const cancelled = await ada.run("jobs", "cancel", id, "--wait");
    expect(cancelled).toMatchObject({ exitCode: 0 });
    expect(cancelled.stdout).toMatch(/^status +CANCELLED$/m);
    // A script that is repeated cancels again, and succeeds.
    const again = await ada.run("jobs", "cancel", id, "--wait");
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.stdout).toMatch(/^status +CANCELLED$/m);
    // No runner has the job, so none is said to stop it.
    expect(`${cancelled.stderr as string}${again.stderr as string}`).not.toContain("runner");
  });

  test("shows terraform's colours and a progress line in a terminal, and asks on Ctrl-C", async () => {
    await using ada = await userMachine(plane, { agent: true });
    await ada.user.configure({ name: "ticking", ...longRunning(60) });
    await using terminal = openTerminal(["jobs", "deploy", "ticking", "--wait"], ada.environment);
    await terminal.shows("Still creating...");
    // Every step is in the log, and the current one is in the progress line below it.
    for (const step of ["init", "plan", "apply"])
      expect(terminal.screen()).toMatch(new RegExp(`^\r?• ${testEngine} [^:]+: ${step}$`, "m"));
    expect(terminal.screen()).toMatch(/deployment of "ticking" · (\d+m )?\d+s · apply/);
    expect(terminal.raw()).toContain("\u001b[1m");
    terminal.type("\u0003");
    await terminal.shows("cancel it (c)");
    terminal.type("c\r");
    await terminal.shows("Cancelled. Waiting for the runner to stop terraform.");
    expect(await terminal.exited).toBe(1);
    expect(terminal.screen()).toContain('The deployment of "ticking" was cancelled after');
  });

  test("shows no colours when NO_COLOR is set", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({ name: "waiting", ...cluster });
    await ada.json("jobs", "plan", "waiting");
    const shown = async (environment: Record<string, string>): Promise<string> => {
      const words = ["jobs", "list"];
      await using terminal = openTerminal(words, { ...ada.environment, ...environment });
      expect(await terminal.exited).toBe(0);
      // The terminal may show it after the command has ended.
      await expect.poll(() => terminal.screen()).toMatch(/^PLAN +waiting +QUEUED/m);
      return terminal.raw();
    };
    expect(await shown({})).toContain("\u001b[33mQUEUED");
    expect(await shown({ NO_COLOR: "1" })).not.toContain("\u001b");
  });

  test("leaves the job running when the user chooses to detach", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({ name: "later", ...cluster });
    const { id } = await ada.json<Job>("jobs", "plan", "later");
    await setRows(plane, "jobs", { created_at: Date.now() - hour }, { id });
    await using terminal = openTerminal(["jobs", "logs", id, "--follow"], ada.environment);
    await terminal.shows("There is no worker yet");
    // The time is that of the job, not of this client.
    await until(() => /plan of "later" · 1h/.test(terminal.screen()));
    terminal.type("\u0003");
    await terminal.shows("or keep waiting (Enter)?");
    terminal.type("\r");
    await until(() => terminal.screen().split("waiting (Enter)?")[1]?.includes('plan of "later"'));
    // Why it waits is printed once, and not again in the progress line.
    expect(terminal.screen()).not.toContain("there is no worker for this job");
    expect(terminal.screen()).toMatch(/plan of "later" · 1h.* · waiting/);
    terminal.type("\u0003");
    await until(() => terminal.screen().split("Leave it in the queue (d)").length > 2);
    // Another word is no answer, such as one that begins with c: the client asks once more.
    terminal.type("clear\r");
    await until(() => terminal.screen().split("Leave it in the queue (d)").length > 3);
    terminal.type("d\r");
    expect(await terminal.exited).toBe(130);
    expect(terminal.screen()).toContain("windlass: Detached. The job stays in the queue.");
    expect(await ada.json("jobs", "list")).toMatchObject([{ status: "QUEUED" }]);
  });

  test("reports wrong arguments with what to do", async () => {
    await using ada = await userMachine(plane);
    const none = await ada.run("jobs", "list");
    expect(none).toMatchObject({ exitCode: 0, stdout: "" });
    expect(none.stderr).toContain("windlass jobs plan CONFIGURATION");
    expect(await ada.json("jobs", "list")).toEqual([]);
    for (const words of [
      ["list", "--limit", "no"],
      ["list", "--status", "lost"],
      ["list", "--since", "10"],
      ["show", "-", "--markdown", "--json"],
      ["deploy"],
    ])
      expect(await ada.run("jobs", ...words)).toMatchObject({
        exitCode: 2,
        stdout: "",
      });
    expect((await ada.run("jobs", "plam", "x")).stderr).toContain("Did you mean plan?");
    await ada.user.configure({ name: "network", ...cluster });
    expect((await ada.run("jobs", "plan", "netwrok")).stderr).toBe(
      'windlass: There is no configuration "netwrok". Did you mean network?',
    );
    const unnamed = await ada.run("jobs", "show", "x");
    expect(unnamed).toMatchObject({ exitCode: 1, stdout: "" });
    expect(unnamed.stderr).toContain('"x" does not name a job. Pass an id');
  });
});
