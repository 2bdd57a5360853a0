import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { expect, test } from "vitest";
import { JobRuns } from "../../agent/job-runs.ts";
import { openJournal, type Entry } from "../../agent/job/journal.ts";
import { stepsOf } from "../../agent/job/steps.ts";
import { bootId } from "../../agent/machine/process-identity.ts";
import { openRun } from "../../agent/job/terraform/process.ts";
import type { ClaimedJob } from "../../protocol/executions.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { folderForEachTest } from "../helpers/machine/folders.ts";

let workDir: string;
let directory: string;
folderForEachTest((path) => {
  workDir = path;
  directory = join(workDir, "jobs", "job");
});

const claimOf = (job_type: "PLAN" | "DEPLOY" | "DESTROY") =>
  ({ job: { id: "job", job_type, config_snapshot: {} } }) as ClaimedJob;

/** Adds these entries to the journal of the job. */
function write(...entries: Entry[]): void {
  mkdirSync(directory, { recursive: true });
  const journal = openJournal(directory);
  for (const entry of entries) journal.append(entry);
  journal.close();
}

const openRuns = (
  api: object = {},
  onEnd: (result: string) => void = () => undefined,
  log = pino({ level: "silent" }),
  onPatience: () => void = () => undefined,
  isolation: object = {},
) =>
  new JobRuns({
    api: { forJob: () => api } as never,
    settings: {
      workDir,
      isolation: { level: "process", workDir, ...isolation },
      logLimitBytes: 1e6,
      workerToken: "wlw_token",
      sealKey: "key",
      gitAccess: [],
      network: {},
      get patience() {
        onPatience();
        return { init: patience, plan: patience, apply: patience };
      },
    } as never,
    log,
    onEnd,
    retry: { first: 1, most: 5 },
  });
const patience = { first: 5000, second: 1000 };

test.each([
  ["by an earlier process", bootId(), expect.closeTo(1000, -2)],
  ["before the machine was restarted", "another", undefined],
])(
  "the log says of which configuration a job was, how it ended and how long it took since it started %s",
  async (_, boot, seconds) => {
    const { job } = claimOf("PLAN");
    const claim = { job: { ...job, config_snapshot: { name: "network" } } } as ClaimedJob;
    write(
      { at: "claimed", claim },
      { at: "started", boot, uptime: process.hrtime()[0] - 1000 },
      { at: "ended", report: { status: "FAILED" } },
      { at: "reported" },
    );
    const lines: Record<string, unknown>[] = [];
    const keep = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]);
    const jobs = openRuns({}, undefined, pino({ level: "info" }, { write: keep }));
    jobs.find();
    jobs.adopt("all");
    await jobs.allDone();
    const known = { job: "job", type: "PLAN", configuration: "network" };
    expect(lines).toMatchObject([
      { ...known, msg: "job found, continuing it" },
      { ...known, msg: "job ended", result: expect.any(String) },
    ]);
    expect(lines[1]?.["seconds"]).toEqual(seconds);
  },
);

test("a job whose files cannot be removed frees its slot, and the next start removes them", async () => {
  write(
    { at: "claimed", claim: claimOf("PLAN") },
    { at: "ended", report: { status: "FAILED" } },
    { at: "reported" },
  );
  // A file in place of the directory makes the removal fail.
  writeFileSync(join(workDir, "workspaces"), "");
  const ended: string[] = [];
  const adopt = async () => {
    const jobs = openRuns({}, (result) => ended.push(result));
    jobs.find();
    expect(jobs.ids()).toEqual(["job"]);
    expect(jobs.adopt("all")).toBe(1);
    await jobs.allDone();
  };
  await adopt();
  expect(existsSync(directory)).toBe(true);
  rmSync(join(workDir, "workspaces"));
  await adopt();
  expect(existsSync(directory)).toBe(false);
  expect(ended).toEqual(["FAILED", "ABANDONED"]);
});

test("no job waits until the files of a former one are removed", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("needs root");
  write(
    { at: "claimed", claim: claimOf("PLAN") },
    { at: "placed", level: "uid", user: 1_896_777_215 },
    { at: "ended", report: { status: "SUCCESS" } },
    { at: "reported" },
  );
  mkdirSync(join(workDir, "workspaces", "job", "source"), { recursive: true });
  // Searching the directories of the machine takes as long as the test wants.
  const find = `#!/bin/sh\ntouch "${workDir}/begun"\nwhile [ ! -e "${workDir}/go" ]; do sleep 0.02; done\n`;
  mkdirSync(join(workDir, "bin"));
  writeFileSync(join(workDir, "bin", "find"), find, { mode: 0o755 });
  const ended = Promise.withResolvers<string>();
  const jobs = openRuns({}, ended.resolve, undefined, undefined, {
    path: `${join(workDir, "bin")}:/usr/bin:/bin`,
  });
  jobs.find();
  jobs.adopt("all");
  await ended.promise;
  expect(jobs.ids()).toEqual([]);
  expect(existsSync(join(workDir, "workspaces", "job"))).toBe(false);
  await until(() => existsSync(join(workDir, "begun")));
  // A restarted agent would continue.
  expect(readFileSync(join(directory, "journal.ndjson"), "utf8")).toContain('{"at":"left"}');
  writeFileSync(join(workDir, "go"), "");
  await jobs.allDone();
  expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
  expect(readdirSync(join(workDir, "workspaces"))).toEqual([]);
});

test("an unwritable claim and an unreadable journal leave no file open", async () => {
  const jobs = openRuns();
  // Fails to write the claim, as a full disk does.
  const refused = Object.assign(claimOf("PLAN"), {
    toJSON: () => {
      throw new Error("no room");
    },
  });
  const open = () => readdirSync("/proc/self/fd").length;
  const before = open();
  for (let tries = 0; tries < 5; tries++)
    await expect(jobs.start(refused)).rejects.toThrow("no room");
  writeFileSync(join(workDir, "jobs", "job", "journal.ndjson"), "not JSON\n");
  for (let tries = 0; tries < 5; tries++) jobs.adopt("all");
  expect(open()).toBe(before);
});

test("a job whose claim has a wrong type fails with the field's name and frees its slot", async () => {
  const reports: Report[] = [];
  const ended: string[] = [];
  const api = { reportStatus: async (report: Report) => void reports.push(report) };
  const jobs = openRuns(api, (result) => ended.push(result));
  const claim = claimOf("PLAN");
  Object.assign(claim.job, { plan_job_id: "../..", config_snapshot: { variables: { a: null } } });
  expect(await jobs.start(claim)).toBe(true);
  await jobs.allDone();
  const error_message = "claim: job.config_snapshot.variables.a must be an object";
  expect(reports).toEqual([{ status: "FAILED", error_message }]);
  expect(ended).toEqual(["FAILED"]);
  expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
});

test("a job whose agent ended three times in a row is stopped and reported as FAILED", async () => {
  write(
    { at: "claimed", claim: claimOf("DEPLOY") },
    { at: "placed", level: "process", user: null },
    { at: "run", run: "05-apply", logged: true, boot: null },
  );
  const apply = openRun({
    directory: join(directory, "runs", "05-apply"),
    command: "/bin/sh",
    args: ["-c", "trap 'exit 1' INT; : > trapped; while :; do sleep 0.05; done"],
    cwd: workDir,
    env: { PATH: process.env["PATH"] ?? "" },
  });
  while (!existsSync(join(workDir, "trapped"))) await sleep(10);
  for (let crashes = 0; crashes < 3; crashes++) write({ at: "adopted" });
  const reports: { status: string; error_message?: string; outcome_unknown?: boolean }[] = [];
  const jobs = openRuns({
    reportStatus: async (report: (typeof reports)[0]) => void reports.push(report),
  });
  jobs.find();
  expect(jobs.adopt("all")).toBe(1);
  await jobs.allDone();
  expect(await apply.ended).toEqual({ kind: "exited", code: 1 });
  expect(reports).toMatchObject([{ status: "FAILED", outcome_unknown: true }]);
  expect(reports[0]?.error_message).toContain("the agent crashed 3 times in a row");
  expect(existsSync(directory)).toBe(false);
});

/** A job in its apply, which prints until the file `go` exists and saves no state at an interrupt. */
async function inApply() {
  const folder = join(workDir, "workspaces", "job", "source");
  mkdirSync(folder, { recursive: true });
  const engine = { engine: "terraform", version: "1.0.0", path: "/bin/false" } as const;
  const steps = stepsOf("DESTROY").map(({ name }) => name);
  write(
    { at: "claimed", claim: claimOf("DESTROY") },
    { at: "placed", level: "process", user: null },
    { at: "started", boot: null, uptime: 0 },
    ...steps.slice(0, -1).map((step) => ({ at: "done", step, facts: { engine, folder } }) as const),
    { at: "begun", step: "apply" },
    { at: "run", run: "07-apply", logged: true, boot: bootId() },
  );
  const script = `trap 'echo state > ${folder}/errored.tfstate; exit 1' INT; : > trapped
    while [ ! -e go ]; do echo tick; sleep 0.05; done`;
  const apply = openRun({
    directory: join(directory, "runs", "07-apply"),
    command: "/bin/sh",
    args: ["-c", script],
    cwd: workDir,
    env: { PATH: process.env["PATH"] ?? "" },
  });
  while (!existsSync(join(workDir, "trapped"))) await sleep(10);
  const reports: Report[] = [];
  const api = {
    reportStatus: async (report: Report) => void reports.push(report),
    appendLogs: async () => ({ job_status: "PROCESSING" }),
  };
  return { apply, reports, api };
}
type Report = Record<string, unknown> & { error_message?: string };

/** Throws this many times. */
function failing(times: number): () => void {
  let left = times;
  return () => {
    if (left-- > 0) throw new Error("EMFILE: too many open files, of wlw_token");
  };
}

test("an apply goes on through errors of its agent, which reports how it ended", async () => {
  const { apply, reports, api } = await inApply();
  const jobs = openRuns(api, undefined, undefined, failing(15));
  jobs.find();
  jobs.adopt("all");
  const goes = sleep(300).then(() => writeFileSync(join(workDir, "go"), ""));
  await Promise.all([jobs.allDone(), goes]);
  expect(await apply.ended).toEqual({ kind: "exited", code: 0 });
  expect(reports).toEqual([{ status: "SUCCESS", last_seq: expect.any(Number) }]);
});

test("after too many errors of its agent in a row, an apply is stopped, its state kept and its outcome unknown", async () => {
  const { apply, reports, api } = await inApply();
  const jobs = openRuns(api, undefined, undefined, failing(16));
  jobs.find();
  jobs.adopt("all");
  await jobs.allDone();
  expect(await apply.ended).toEqual({ kind: "exited", code: 1 });
  expect(reports).toMatchObject([{ status: "FAILED", outcome_unknown: true, state_unsaved: true }]);
  const kept = join(workDir, "rescued-states", "job.tfstate");
  expect(reports[0]?.error_message).toMatch(
    /^the agent failed again and again .*: EMFILE: too many open files, of \*\*\*; the last command was 07-apply; outcome unknown; the state could not be saved and is kept/,
  );
  expect(reports[0]?.error_message).toContain(kept);
  expect(readFileSync(kept, "utf8")).toBe("state\n");
});

test("an outcome that was decided is reported, even if the agent crashes before it can send the log", async () => {
  const report = { status: "SUCCESS" } as const;
  write(
    { at: "claimed", claim: claimOf("DESTROY") },
    { at: "placed", level: "process", user: null },
    { at: "ended", report },
  );
  for (let crashes = 0; crashes < 4; crashes++) write({ at: "adopted" });
  const reports: Report[] = [];
  const jobs = openRuns({
    reportStatus: async (sent: Report) => void reports.push(sent),
  });
  jobs.find();
  jobs.adopt("all");
  await jobs.allDone();
  expect(reports).toEqual([report]);
});
