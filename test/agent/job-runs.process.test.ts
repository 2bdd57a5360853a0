import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { expect, test } from "vitest";
import { JobRuns } from "../../agent/job-runs.ts";
import { openJournal } from "../../agent/job/journal.ts";
import { openRun } from "../../agent/job/terraform/process.ts";
import type { ClaimedJob } from "../../protocol/executions.ts";

test("a job whose files cannot be removed frees its slot, and the next start removes them", async () => {
  const workDir = mkdtempSync(join(tmpdir(), "job-runs-"));
  const directory = join(workDir, "jobs", "job");
  mkdirSync(directory, { recursive: true });
  const journal = openJournal(directory);
  const claim = { job: { id: "job", job_type: "PLAN", config_snapshot: {} } } as ClaimedJob;
  journal.append({ at: "claimed", claim });
  journal.append({ at: "ended", report: { status: "FAILED" } });
  journal.append({ at: "reported" });
  journal.close();
  // A file in place of the folder makes the removal fail.
  writeFileSync(join(workDir, "workspaces"), "");
  const ended: string[] = [];
  const adopt = async () => {
    const jobs = new JobRuns({
      api: { forJob: () => ({}) } as never,
      settings: { workDir, isolation: { level: "process" } } as never,
      log: pino({ level: "silent" }),
      onEnd: (result) => ended.push(result),
    });
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
  rmSync(workDir, { recursive: true });
});

test("an unwritable claim and an unreadable journal leave no file open", async () => {
  const workDir = mkdtempSync(join(tmpdir(), "job-runs-"));
  const jobs = new JobRuns({
    api: { forJob: () => ({}) } as never,
    settings: { workDir, isolation: { level: "process" } } as never,
    log: pino({ level: "silent" }),
    onEnd: () => undefined,
  });
  const claim = { job: { id: "job", job_type: "PLAN" } } as ClaimedJob;
  // Fails to write the claim, as a full disk does.
  const refused = Object.assign({}, claim, {
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
  rmSync(workDir, { recursive: true });
});

test("a job whose agent ended three times in a row is stopped and reported as FAILED", async () => {
  const workDir = mkdtempSync(join(tmpdir(), "job-runs-"));
  const directory = join(workDir, "jobs", "job");
  mkdirSync(directory, { recursive: true });
  const claim = { job: { id: "job", job_type: "DEPLOY", config_snapshot: {} } } as ClaimedJob;
  const journal = openJournal(directory);
  journal.append({ at: "claimed", claim });
  journal.append({ at: "placed", level: "process", user: null });
  journal.append({ at: "run", run: "05-apply", logged: true, boot: null });
  journal.close();
  const apply = openRun({
    directory: join(directory, "runs", "05-apply"),
    command: "/bin/sh",
    args: ["-c", "trap 'exit 1' INT; while :; do sleep 0.05; done"],
    cwd: workDir,
    env: { PATH: process.env["PATH"] ?? "" },
  });
  while (!existsSync(join(directory, "runs", "05-apply", "child"))) await sleep(10);
  const crash = (): void => {
    const again = openJournal(directory);
    again.append({ at: "adopted" });
    again.close();
  };
  for (let crashes = 0; crashes < 3; crashes++) crash();
  const reports: { status: string; error_message?: string; outcome_unknown?: boolean }[] = [];
  const patience = { first: 5000, second: 1000 };
  const jobs = new JobRuns({
    api: {
      forJob: () => ({
        reportStatus: async (report: (typeof reports)[0]) => void reports.push(report),
      }),
    } as never,
    settings: {
      workDir,
      isolation: { level: "process" },
      patience: { init: patience, plan: patience, apply: patience },
    } as never,
    log: pino({ level: "silent" }),
    onEnd: () => undefined,
  });
  jobs.find();
  expect(jobs.adopt("all")).toBe(1);
  await jobs.allDone();
  expect(await apply.ended).toEqual({ kind: "exited", code: 1 });
  expect(reports).toMatchObject([{ status: "FAILED", outcome_unknown: true }]);
  expect(reports[0]?.error_message).toContain("the agent ended 3 times in a row");
  expect(existsSync(directory)).toBe(false);
  rmSync(workDir, { recursive: true });
});
