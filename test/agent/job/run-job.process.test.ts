/** Jobs that a killed agent left between two steps. The next agent continues them. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobSettings } from "../../../agent/job/context.ts";
import { type JobApi } from "../../../agent/job/job-api.ts";
import { JobRefusedError } from "../../../agent/job/job-refused-error.ts";
import { JournalError, openJournal, type Entry, type Journal } from "../../../agent/job/journal.ts";
import { JobStop } from "../../../agent/job/job-stop.ts";
import { runJob, type JobResult } from "../../../agent/job/run-job.ts";
import { bootId } from "../../../agent/machine/process-identity.ts";
import { stepsOf } from "../../../agent/job/steps.ts";
import { seal } from "../../../common/sealed-box.ts";
import type { ClaimedJob, ReportStatus } from "../../../protocol/executions.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";

let workDir: string;
folderForEachTest((path) => {
  workDir = path;
});

const patience = { first: 1000, second: 1000 };
const settings = () =>
  ({
    workDir,
    isolation: { level: "process" },
    title: "Agent",
    logLimitBytes: 1e6,
    debugLogLimitBytes: 1e6,
    workerToken: "wlw_token",
    sealKey: "key",
    gitAccess: [],
    network: {},
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

/** A control plane that records reports and logs. */
function server(refusal?: JobRefusedError): {
  api: JobApi;
  reports: ReportStatus[];
  log: () => string;
} {
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
      identityToken: () => Promise.reject(new Error("not asked for")),
      stateAddress: () => "http://127.0.0.1:9",
      hasState: () => Promise.resolve(false),
      readState: () => Promise.resolve(undefined),
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

async function run(journal: Journal, api: JobApi): Promise<JobResult> {
  const end = await runJob({ journal, settings: settings(), api, stop: new JobStop(journal) });
  await end.remove();
  return end.result;
}

const wholeRun = (name: string, output: string): void => {
  const directory = join(workDir, "jobs", claim.job.id, "runs", name);
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of Object.entries({ stdout: output, stderr: "", exit: "0\n" })) {
    writeFileSync(join(directory, file), text);
  }
};

test("after the last step, the next agent sends the rest of the log and then the result", async () => {
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

test("without the key of the secrets that a job has learnt, its log is held back and says so", async () => {
  wholeRun("init", "output of init\n");
  wholeRun("plan", "the-secret-of-the-job\n");
  const sealed = seal(randomBytes(32), JSON.stringify(["the-secret-of-the-job"]));
  const { api, reports, log } = server();
  const ended = { status: "FAILED", error_message: "it is ***" } as const;
  const journal = left(
    { at: "started", boot: null, uptime: 0 },
    { at: "begun", step: "plan" },
    { at: "run", run: "init", logged: true, boot: null },
    { at: "secrets", sealed: sealed.toString("base64") },
    { at: "run", run: "plan", logged: true, boot: null },
    { at: "done", step: "plan", facts: {} },
    { at: "ended", report: ended },
  );
  expect(await run(journal, api)).toBe("FAILED");
  expect(log()).toBe(
    `[15 bytes of the output of init ${heldBack}]\n[22 bytes of the output of plan ${heldBack}]\n`,
  );
  expect(reports).toEqual([{ ...ended, last_seq: 2 }]);
});

const heldBack = "are held back here: not all secrets to mask in them are known";

test("after the recorded end, the next agent reports that end and sends the rest of the log", async () => {
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
  "with a damaged %s, the job ends with its outcome and a notice that its log is incomplete",
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

test("after the acknowledged report, the next agent reports nothing and removes the job's files", async () => {
  mkdirSync(join(workDir, "workspaces", claim.job.id, "source"), { recursive: true });
  const { api, reports } = server();
  await run(left({ at: "reported" }), api);
  expect(reports).toEqual([]);
  expect(readdirSync(join(workDir, "workspaces"))).toEqual([]);
  expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
});

test("a job that has left its workspace does not touch it again: it may be another job's", async () => {
  const source = join(workDir, "workspaces", claim.job.id, "source");
  mkdirSync(source, { recursive: true });
  const { api } = server();
  await run(left({ at: "reported" }, { at: "left" }), api);
  expect(existsSync(source)).toBe(true);
  expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
});

test.each(["ended", "lost", "refused"] as const)(
  "a start that the server refuses as %s runs nothing and leaves no files",
  async (reason) => {
    const { api } = server(new JobRefusedError(reason, "no"));
    expect(await run(left(), api)).toBe("ABANDONED");
    expect(readdirSync(workDir)).toEqual(["jobs"]);
    expect(readdirSync(join(workDir, "jobs"))).toEqual([]);
  },
);

type JobType = ClaimedJob["job"]["job_type"];

/** The entries of the steps before this one, with this program as terraform. */
function doneBefore(step: string, job_type: JobType, path: string, folder = workDir): Entry[] {
  const engine = { engine: { engine: "terraform", version: "1.0.0", path }, folder } as const;
  const steps = stepsOf(job_type).map(({ name }) => name);
  return steps
    .slice(0, steps.indexOf(step))
    .map((name) => ({ at: "done", step: name, facts: name === "engine" ? engine : {} }));
}

/** A job before this step, with this script as its terraform. */
function before(
  step: string,
  job_type: JobType,
  script: string,
  more: Partial<ClaimedJob["job"]> = {},
): Journal {
  const path = join(workDir, "terraform");
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return leftOf(
    { ...claim, job: { ...claim.job, job_type, ...more } },
    { at: "started", boot: null, uptime: 0 },
    ...doneBefore(step, job_type, path),
  );
}

/** A DESTROY_WORKER before its step show, with an empty plan and these cases in its terraform. */
const teardown = (commands: string): Journal =>
  before(
    "show",
    "DESTROY_WORKER",
    `case "$1 $2" in\n"show -json") echo '{"errored":false}';;\n${commands}\nesac`,
  );

test.each([
  ["a state without resources", "SUCCESS", `"state list") ;;`],
  ["an unlistable state", "FAILED", `"state list") exit 1;;\n"state pull") echo '{}';;`],
  ["an unreadable state", "FAILED", `"state list") exit 1;;\n"state pull") exit 1;;`],
  ["a state with resources", "FAILED", `"state list") echo a.b;;`],
])("a DESTROY_WORKER with an empty plan and %s ends as %s", async (_state, result, commands) => {
  const { api, reports } = server();
  expect(await run(teardown(commands), api)).toBe(result);
  expect(reports.map(({ status }) => status)).toEqual([result]);
});

test.each([
  ["none of its targets left", "SUCCESS", true, []],
  ["one of its targets left", "SUCCESS", true, ["a.here"]],
  ["one target that is wrong, but is no retry", "FAILED", false, ["a.here"]],
])("a DESTROY_WORKER with %s ends as %s", async (_, result, resumes, there) => {
  const { api, reports, log } = server();
  const changes = there.map((address) => ({ address, change: { actions: ["delete"] } }));
  const plan = JSON.stringify({ errored: false, resource_changes: changes });
  const commands = `case "$1 $2" in\n"show -json") echo '${plan}';;\n"state list") echo a.other;;\nesac`;
  const more = { targets: ["a.here", "a.gone"], ...(resumes ? { resumes_teardown: true } : {}) };
  expect(await run(before("show", "DESTROY_WORKER", commands, more), api)).toBe(result);
  expect(reports.at(-1)?.status).toBe(result);
  if (resumes)
    expect(log()).toMatch(
      there.length === 0 ? /destroyed all of a\.here, a\.gone\./ : /destroyed all of a\.gone\./,
    );
});

const neverWritten = '{"version":4,"serial":0,"lineage":"","outputs":{},"resources":[]}';

test.each([
  ["no state", ""],
  ["a state that was never written", `echo '${neverWritten}'`],
])("a DESTROY_WORKER with %s says that nothing was ever deployed", async (_, pull) => {
  const { api, reports } = server();
  const commands = `"state list") echo "Run this command elsewhere" >&2; exit 1;;\n"state pull") ${pull};;`;
  expect(await run(teardown(commands), api)).toBe("FAILED");
  expect(reports.at(-1)?.error_message).toMatch(
    /^plan: the deploy configuration has no state: nothing was ever deployed with it.* windlass workers update NAME --deploy-configuration /,
  );
});

test.each([
  ["hang", "exec sleep 300"],
  ["are too large", "head -c 40000000 /dev/zero"],
  ["are not JSON", "echo '{'"],
])("outputs that %s neither fail nor delay a finished apply", async (_, commands) => {
  const { api, reports, log } = server();
  expect(await run(before("output", "DEPLOY", commands), api)).toBe("SUCCESS");
  expect(reports.map(({ status }) => status)).toEqual(["SUCCESS"]);
  expect(log()).toContain("The outputs could not be read: ");
});

test("an error of the agent while it reads the outputs does not fail a finished apply", async () => {
  const { api, reports, log } = server();
  const journal = before("output", "DEPLOY", "exit 0");
  const broken = {
    ...settings(),
    get patience(): never {
      throw new Error("out of files");
    },
  };
  await runJob({ journal, settings: broken, api, stop: new JobStop(journal) });
  expect(reports.map(({ status }) => status)).toEqual(["SUCCESS"]);
  expect(log()).toContain("The outputs could not be read: out of files");
});

/** A journal that fails to write these entries, as on a full disk. */
const full = (journal: Journal, at: Entry["at"]): Journal => ({
  ...journal,
  append: (entry) => {
    if (entry.at === at) throw new JournalError("ENOSPC");
    journal.append(entry);
  },
});

test("a step whose end cannot be recorded on a full disk is repeated later and succeeds", async () => {
  const { api, reports } = server();
  const journal = teardown(`"state list") ;;`);
  await expect(run(full(journal, "done"), api)).rejects.toThrow("ENOSPC");
  expect(reports.filter(({ status }) => status !== "PROCESSING")).toEqual([]);
  expect(await run(journal, api)).toBe("SUCCESS");
});

test("a job can be stopped while the disk is full", () => {
  const stop = new JobStop(full(left(), "stopping"));
  stop.request("cancelled");
  expect(stop.signal.reason).toBe("cancelled");
});

test("a closed journal refuses entries, and closing it again does nothing", () => {
  const journal = left();
  journal.close();
  journal.close();
  expect(() => journal.append({ at: "reported" })).toThrow("closed");
});

test("an apply during a reboot of the machine ends as FAILED with its outcome unknown", async () => {
  const folder = join(workDir, "workspaces", "job", "source");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "errored.tfstate"), "state");
  const { api, reports } = server();
  const journal = left(
    { at: "started", boot: "another boot", uptime: 0 },
    ...doneBefore("apply", "DESTROY", "/bin/false", folder),
    { at: "begun", step: "apply" },
    { at: "run", run: "07-apply", logged: true, boot: "another boot" },
  );
  expect(await run(journal, api)).toBe("FAILED");
  expect(reports[0]?.error_message).toMatch(/^apply: the machine was restarted; outcome unknown/);
  // The state that could not be saved is not wiped with the workspace.
  expect(reports[0]?.error_message).toContain("is kept on the runner");
  expect(reports[0]).toMatchObject({ outcome_unknown: true, state_unsaved: true });
  expect(readFileSync(join(workDir, "rescued-states", "job.tfstate"), "utf8")).toBe("state");
});

test.each([
  [0, 2, "SUCCESS", undefined],
  [1, 1, "CANCELLED", undefined],
  [1, 2, "CANCELLED", true],
  [130, 0, "CANCELLED", true],
  [137, 1, "CANCELLED", true],
])(
  "an apply that ended with %i after %i interrupts of earlier agents is a %s with outcome_unknown %s",
  async (code, interrupts, status, outcome_unknown) => {
    wholeRun("07-apply", "");
    const directory = join(workDir, "jobs", claim.job.id, "runs", "07-apply");
    writeFileSync(join(directory, "started"), "an identity\n");
    writeFileSync(join(directory, "exit"), `${code}\n`);
    const { api, reports } = server();
    const journal = left(
      { at: "started", boot: null, uptime: 0 },
      ...doneBefore("apply", "DESTROY", "/bin/false"),
      { at: "begun", step: "apply" },
      { at: "run", run: "07-apply", logged: true, boot: bootId() },
      { at: "stopping", reason: "cancelled" },
      ...Array.from(
        { length: interrupts },
        () => ({ at: "interrupted", run: "07-apply" }) as const,
      ),
    );
    expect(await run(journal, api)).toBe(status);
    expect(reports).toMatchObject([{ status }]);
    expect(reports[0]?.outcome_unknown).toBe(outcome_unknown);
  },
);

test("a job with more secrets than can be masked fails before it runs anything", async () => {
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
