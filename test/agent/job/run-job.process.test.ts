/** A job that a killed agent left between two steps: the journal is all that the next one has. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSettings } from "../../../agent/job/context.ts";
import { type JobApi } from "../../../agent/job/job-api.ts";
import { JobRefused } from "../../../agent/job/job-refused.ts";
import {
  JournalFailed,
  openJournal,
  type Entry,
  type Journal,
} from "../../../agent/job/journal.ts";
import { JobStop } from "../../../agent/job/job-stop.ts";
import { runJob } from "../../../agent/job/run-job.ts";
import { stepsOf } from "../../../agent/job/steps.ts";
import type { ClaimedJob, ReportStatus } from "../../../protocol/executions.ts";

let workDir: string;
beforeEach(() => {
  workDir = mkdtempSync(join(tmpdir(), "run-job-"));
});
afterEach(() => rmSync(workDir, { recursive: true }));

const patience = { first: 1000, second: 1000 };
const settings = () =>
  ({
    workDir,
    isolation: { level: "process" },
    title: "Agent",
    logLimitBytes: 1e6,
    debugLogLimitBytes: 1e6,
    workerToken: "wlw_token",
    gitAccess: [],
    sourceBytes: 1024 ** 3,
    patience: { init: patience, plan: patience, apply: patience },
  }) as unknown as JobSettings;
const claim: ClaimedJob = {
  job: {
    id: "job",
    job_type: "DESTROY",
    attempt: 1,
    spec_id: "spec",
    zone_id: null,
    config_snapshot: { source: { type: "inline", files: { "main.tf": "" } } },
  },
};

/** The server's side: keeps what it is told. */
function server(refusal?: JobRefused): { api: JobApi; reports: ReportStatus[]; log: () => string } {
  const reports: ReportStatus[] = [];
  const chunks = new Map<number, string>();
  return {
    reports,
    log: () =>
      [...chunks.keys()]
        .toSorted((a, b) => a - b)
        .map((seq) => chunks.get(seq))
        .join(""),
    api: {
      reportStatus: async (report) => {
        if (refusal) throw refusal;
        reports.push(report);
      },
      appendLogs: async (posted) => {
        for (const { seq, log_chunk } of posted) chunks.set(seq, log_chunk);
        return { job_status: "PROCESSING" };
      },
      uploadPlan: () => Promise.reject(new Error("not asked for")),
      uploadDebugLog: () => Promise.reject(new Error("not asked for")),
      downloadPlan: () => Promise.reject(new Error("not asked for")),
      downloadSource: () => Promise.reject(new Error("not asked for")),
      stateAddress: () => "http://127.0.0.1:9",
      hasState: () => Promise.resolve(false),
    },
  };
}

const left = (...entries: Entry[]): Journal => leftOf(claim, ...entries);

function leftOf(claim: ClaimedJob, ...entries: Entry[]): Journal {
  const directory = join(workDir, "jobs", claim.job.id);
  mkdirSync(directory, { recursive: true });
  const journal = openJournal(directory);
  for (const entry of [{ at: "claimed", claim } as const, ...entries]) journal.append(entry);
  return journal;
}

const run = (journal: Journal, api: JobApi) =>
  runJob({ journal, settings: settings(), api, stop: new JobStop(journal) });

const wholeRun = (name: string, output: string): void => {
  const directory = join(workDir, "jobs", claim.job.id, "runs", name);
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of Object.entries({ stdout: output, stderr: "", exit: "0\n" })) {
    writeFileSync(join(directory, file), text);
  }
};

test("killed after the last step, the agent sends the rest of the log and then the result", async () => {
  const entries = stepsOf("DESTROY").flatMap(({ name }): Entry[] => [
    { at: "begun", step: name },
    ...(["init", "plan", "apply"].includes(name)
      ? [{ at: "run", run: name, logged: true, boot: null } as const]
      : []),
    { at: "done", step: name, facts: {} },
  ]);
  for (const name of ["init", "plan", "apply"]) wholeRun(name, `output of ${name}\n`);
  const { api, reports, log } = server();
  const journal = left({ at: "started", boot: null, uptime: 0 }, ...entries);
  expect(await run(journal, api)).toBe("SUCCESS");
  expect(log()).toContain("output of init\noutput of plan\noutput of apply\n");
  expect(reports).toEqual([{ status: "SUCCESS", last_seq: expect.any(Number) }]);
  expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
});

test("killed after the decision, the same end is reported, with what was left of the log", async () => {
  const report: ReportStatus = { status: "FAILED", error_message: "apply failed" };
  wholeRun("apply", "the output\n");
  const { api, reports, log } = server();
  const journal = left(
    { at: "started", boot: null, uptime: 0 },
    { at: "run", run: "apply", logged: true, boot: null },
    { at: "ended", report },
  );
  expect(await run(journal, api)).toBe("FAILED");
  expect(reports).toEqual([{ ...report, last_seq: 1 }]);
  expect(log()).toBe("the output\n");
});

test.each(["shipped.ndjson", "log.ndjson"])(
  "with a damaged %s, the job ends with its outcome and says that its log is incomplete",
  async (file) => {
    const report: ReportStatus = { status: "SUCCESS" };
    const { api, reports, log } = server();
    const journal = left(
      { at: "started", boot: null, uptime: 0 },
      { at: "run", run: "apply", logged: true, boot: null },
      { at: "ended", report },
    );
    wholeRun("apply", "the output\n");
    const path = join(workDir, "jobs", claim.job.id, file);
    writeFileSync(path, '{"run":"apply"}\nnull\n{"ended":"apply"}\n');
    expect(await run(journal, api)).toBe("SUCCESS");
    expect(reports).toEqual([
      {
        ...report,
        error_message: `the log is incomplete: ${path} is damaged: line 2 is not an object`,
      },
    ]);
    expect(log()).toBe("");
    expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
  },
);

test("killed after the acknowledged report, the agent reports nothing again and removes everything", async () => {
  mkdirSync(join(workDir, "workspaces", claim.job.id, "source"), { recursive: true });
  const { api, reports } = server();
  await run(left({ at: "reported" }), api);
  expect(reports).toEqual([]);
  expect(readdirSync(join(workDir, "workspaces"))).toEqual([]);
  expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
});

test.each(["ended", "lost", "refused"] as const)(
  "a start that the server answers with %s starts nothing and leaves nothing",
  async (reason) => {
    const { api } = server(new JobRefused(reason, "no"));
    expect(await run(left(), api)).toBe("ABANDONED");
    expect(readdirSync(workDir)).toEqual(["jobs"]);
    expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
  },
);

/** A DESTROY_WORKER that is about to look at its plan, which destroys nothing; `commands` are what its terraform does. */
function teardown(commands: string): Journal {
  const path = join(workDir, "terraform");
  const script = `#!/bin/sh\ncase "$1 $2" in\n"show -json") echo '{"errored":false}';;\n${commands}\nesac\n`;
  writeFileSync(path, script, { mode: 0o700 });
  const steps = stepsOf("DESTROY_WORKER").map(({ name }) => name);
  return leftOf(
    { ...claim, job: { ...claim.job, job_type: "DESTROY_WORKER" } },
    { at: "started", boot: null, uptime: 0 },
    ...steps.slice(0, steps.indexOf("show")).map((step): Entry => ({
      at: "done",
      step,
      facts:
        step === "engine"
          ? { engine: { engine: "terraform", version: "1.0.0", path }, folder: workDir }
          : {},
    })),
  );
}

test.each([
  [
    "no state at all",
    `"state list") exit 1;;
"state pull") ;;`,
    "SUCCESS",
  ],
  [
    "a state that cannot be listed",
    `"state list") exit 1;;
"state pull") echo '{}';;`,
    "FAILED",
  ],
  [
    "a state that cannot be read",
    `"state list") exit 1;;
"state pull") exit 1;;`,
    "FAILED",
  ],
  ["a state with resources", `"state list") echo a.b;;`, "FAILED"],
])(
  "tearing down nothing, where there is %s, is told as what it is",
  async (_state, commands, result) => {
    const { api, reports } = server();
    expect(await run(teardown(commands), api)).toBe(result);
    expect(reports.map(({ status }) => status)).toEqual([result]);
  },
);

/** A DEPLOY whose apply is done and whose outputs are read by this terraform. */
function applied(commands: string): Journal {
  const path = join(workDir, "terraform");
  writeFileSync(path, `#!/bin/sh\n${commands}\n`, { mode: 0o700 });
  const steps = stepsOf("DEPLOY").map(({ name }) => name);
  return leftOf(
    { ...claim, job: { ...claim.job, job_type: "DEPLOY" } },
    { at: "started", boot: null, uptime: 0 },
    ...steps.slice(0, steps.indexOf("output")).map((step): Entry => ({
      at: "done",
      step,
      facts:
        step === "engine"
          ? { engine: { engine: "terraform", version: "1.0.0", path }, folder: workDir }
          : {},
    })),
  );
}

test.each([
  ["hang", "exec sleep 300"],
  ["are too large", "head -c 40000000 /dev/zero"],
  ["are no JSON", "echo '{'"],
])(
  "outputs that %s do not make a finished apply a failure, nor hold it up",
  async (_, commands) => {
    const { api, reports, log } = server();
    expect(await run(applied(commands), api)).toBe("SUCCESS");
    expect(reports.map(({ status }) => status)).toEqual(["SUCCESS"]);
    expect(log()).toContain("The outputs could not be read: ");
  },
);

/** A journal whose disk is full for these entries. */
const full = (journal: Journal, at: Entry["at"]): Journal => ({
  ...journal,
  append: (entry) => {
    if (entry.at === at) throw new JournalFailed("ENOSPC");
    journal.append(entry);
  },
});

test("a step that succeeded on a full disk is not a failure; it is found again when there is room", async () => {
  const { api, reports } = server();
  const journal = teardown(`"state list") ;;`);
  await expect(run(full(journal, "done"), api)).rejects.toThrow("ENOSPC");
  expect(reports.filter(({ status }) => status !== "PROCESSING")).toEqual([]);
  expect(await run(journal, api)).toBe("SUCCESS");
});

test("a full disk keeps no job from being stopped", () => {
  const stop = new JobStop(full(left(), "stopping"));
  stop.request("cancelled");
  expect(stop.signal.reason).toBe("cancelled");
});

test("a closed journal takes no more, and is closed once", () => {
  const journal = left();
  journal.close();
  journal.close();
  expect(() => journal.append({ at: "reported" })).toThrow("closed");
});

test("an apply that was under way when the machine went down is FAILED, its outcome unknown", async () => {
  const folder = join(workDir, "workspaces", "job", "source");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "errored.tfstate"), "state");
  const before = stepsOf("DESTROY").map(({ name }) => name);
  const done = before.slice(0, -1).map((step): Entry => ({
    at: "done",
    step,
    facts:
      step === "engine"
        ? { engine: { engine: "terraform", version: "1.0.0", path: "/bin/false" }, folder }
        : {},
  }));
  const { api, reports } = server();
  const journal = left(
    { at: "started", boot: "another boot", uptime: 0 },
    ...done,
    { at: "begun", step: "apply" },
    { at: "run", run: "07-apply", logged: true, boot: "another boot" },
  );
  expect(await run(journal, api)).toBe("FAILED");
  expect(reports[0]?.error_message).toMatch(/^apply: the machine was restarted; outcome unknown/);
  // What it could save nowhere is not wiped with the workspace.
  expect(reports[0]?.error_message).toContain("is kept on the runner");
  expect(readFileSync(join(workDir, "rescued-states", "job.tfstate"), "utf8")).toBe("state");
});

test("more secrets than can be masked end a job before anything of it runs", async () => {
  const value = Array.from({ length: 10_001 }, (_, index) => `secret-${index}`);
  const journal = leftOf({
    job: {
      ...claim.job,
      config_snapshot: {
        ...claim.job.config_snapshot,
        variables: { keys: { value, sensitive: true } },
      },
    },
  });
  const { api, reports } = server();
  expect(await run(journal, api)).toBe("FAILED");
  expect(reports).toEqual([
    { status: "PROCESSING" },
    expect.objectContaining({ error_message: expect.stringContaining("too many to be masked") }),
  ]);
});
