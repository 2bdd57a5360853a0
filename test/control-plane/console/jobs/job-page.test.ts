import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { attributes, dom, texts, words } from "../../../helpers/console/forms.ts";
import { setRows } from "../../../helpers/plane/plane.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});

const page = async (job: string): Promise<string> => (await fixture.page(`/jobs/${job}`)).text;
const begin = async (job_type: "PLAN" | "DEPLOY"): Promise<string> => {
  const configuration_id = await fixture.configure(`${job_type} ${randomUUID()}`);
  return fixture.begin({ job_type, configuration_id });
};
/** The class and the name of each step. */
const stepsIn = (text: string) =>
  dom(text)
    .querySelectorAll(".steps > li")
    .map((step) => [step.classNames, ...texts(step, "strong")]);

/** The states and texts of the bars. */
const barsIn = (text: string): string[] =>
  dom(text)
    .querySelectorAll(".rows li")
    .map((bar) => [bar.classNames, ...texts(bar, "bdi"), ...texts(bar, ".took")].join(" "))
    .map((text) => text.replace(/from [^,]*, /, ""));

test("the resources of an apply are bars, with their outcome and a link to the log", async () => {
  const job = await begin("DEPLOY");
  expect(texts(await page(job), "svg:not(.icon)")).toEqual([]);
  const hostile = 'a.b["<script>alert(1)</script>\u202e"]';
  await fixture.resource(job, { address: "a.a", action: "create", event: "started" });
  await fixture.resource(job, { address: hostile, action: "delete", event: "started" }, 1);
  await fixture.resource(job, { address: "a.c", action: "update", event: "started" }, 2);
  await fixture.resource(job, { address: "a.a", action: "create", event: "ended" }, 65);
  await fixture.resource(job, { address: "a.c", action: "update", event: "failed" }, 70);
  const shown = await page(job);
  expect(barsIn(shown).map((text) => text.replace(/for \d+ .*/, "for"))).toEqual([
    "done a.a 1 min 5 s",
    'open a.b["<script>alert(1)</script>\\u202e"] for',
    "failed a.c failed within 1 min 8 s",
  ]);
  expect(shown).toContain("1 done, 1 in progress, 1 failed");
  expect(attributes(shown, ".rows rect:not(.whole)", "class")).toEqual([
    "create",
    "delete running",
    "failed",
  ]);
  const counts = { done: 1, open: 1, failed: 1, total: null };
  expect((await fixture.read(job)).resource_progress).toEqual(counts);
  await fixture.end(job, "FAILED");
  const over = await page(job);
  expect(over).toContain("1 done, 1 not finished, 1 failed");
  expect(barsIn(over)[1]).toContain("not finished");
});

test("an apply that failed lists the resources of its plan that it did not reach", async () => {
  const configuration_id = await fixture.configure("half done");
  const plan_job_id = await fixture.begin({ job_type: "PLAN", configuration_id });
  const changes = [
    { address: "a.gone", action: "delete" },
    { address: "a.swapped", action: "replace" },
    { address: "a.made", action: "create" },
    { address: "a.broken", action: "update" },
    { address: 'a.late["<b>"]', action: "create" },
    { address: "data.a.b", action: "read" },
  ];
  const counts = { ...emptySummary.counts, create: 2, update: 1, replace: 1, delete: 1 };
  await fixture.end(plan_job_id, "SUCCESS", {
    plan_summary: { ...emptySummary, counts, changes },
  });
  expect(await page(plan_job_id)).toContain("Deploy this plan (destroys 1, replaces 1)");
  const job = await fixture.begin({ job_type: "DEPLOY", configuration_id, plan_job_id });
  for (const [address, action, event] of [
    ["a.swapped", "delete", "started"],
    ["a.swapped", "delete", "ended"],
    ["a.made", "create", "started"],
    ["a.made", "create", "ended"],
    ["a.broken", "update", "started"],
    ["a.broken", "update", "failed"],
  ] as const)
    await fixture.resource(job, { address, action, event });
  expect(await page(job)).not.toContain("not reached");
  await fixture.end(job, "FAILED");
  const over = await page(job);
  expect(over).toContain("1 of 5 done, 1 not finished, 1 failed, 2 not reached");
  expect(barsIn(over)).toEqual([
    "open a.swapped not finished",
    "done a.made 0 s",
    "failed a.broken failed within 1 s",
    "missed a.gone not reached",
    'missed a.late["<b>"] not reached',
  ]);
  expect((await fixture.read(job)).resource_progress).toEqual({
    done: 1,
    open: 1,
    failed: 1,
    total: 5,
    resources: [
      { address: "a.gone", action: "delete", outcome: "not_reached" },
      { address: "a.swapped", action: "replace", outcome: "not_finished" },
      { address: "a.made", action: "create", outcome: "done" },
      { address: "a.broken", action: "update", outcome: "failed" },
      { address: 'a.late["<b>"]', action: "create", outcome: "not_reached" },
    ],
  });
});

test("a line that goes on behind another stream is whole in the raw log and without a script", async () => {
  const job = await begin("PLAN");
  await fixture.log(job, "a.b: Still cre");
  await fixture.log(job, "Error: no\n", "STDERR");
  await fixture.log(job, "ating...\n");
  const whole = "Error: no\na.b: Still creating...\n";
  expect(await page(job)).toContain(`\n${whole}</pre`);
  expect((await fixture.page(`/jobs/${job}/log`)).text).toBe(whole);
  await fixture.end(job, "FAILED");
});

test("of very many resources, those that fail or are under way always have a bar", async () => {
  const job = await begin("PLAN");
  const rows = Array.from({ length: 400 }, (_, index) => `a.b[${index}]`);
  const at = new Date(0).toISOString();
  await fixture.resources(
    job,
    rows.flatMap((address, index) => [
      { address, action: "create", event: "started", at },
      ...(index === 399
        ? []
        : [{ address, action: "create" as const, event: "ended" as const, at }]),
    ]),
  );
  const bars = barsIn(await page(job));
  expect(bars).toHaveLength(300);
  expect(bars.at(-1)).toMatch(/^open a\.b\[399\]/);
  expect(await page(job)).toMatch(/… and 100 more/);
});

test("a plan is shown attribute by attribute, and hostile text in it is only text", async () => {
  const job = await begin("PLAN");
  const hostile = "<img src=x onerror=alert(1)>\u202e";
  const summary = {
    ...emptySummary,
    counts: { ...emptySummary.counts, update: 1 },
    changes: [
      {
        address: "a.b",
        action: "update",
        attributes: [
          { path: hostile, before: hostile, after: `${hostile}\n`.repeat(20) },
          { path: "password", sensitive: true },
          { path: "id", before: "x", unknown: true },
          "of-0.1",
        ],
      },
    ],
    truncated: true,
  };
  await fixture.end(job, "SUCCESS", { plan_summary: summary });
  const shown = await page(job);
  expect(texts(shown, "img")).toEqual([]);
  expect(shown).not.toContain("\u202e");
  expect(words(shown)).toContain("<img src=x onerror=alert(1)>\\u202e");
  expect(words(shown)).toContain(" password (sensitive) ");
  expect(words(shown)).toContain(' "x" → (known after the apply) ');
  expect(texts(shown, "code.path")).toContain("of-0.1");
  expect(shown).toContain("too large to be shown here");
  expect(shown).toContain("**Plan: 1 to change**");
});

test("a DEPLOY shows the plan that it applies with its values; a very large one after its end", async () => {
  const configuration_id = await fixture.configure("with values");
  const deploy = async (after: string) => {
    const change = {
      address: "a.b",
      action: "update" as const,
      attributes: [
        { path: "size", before: "small", after },
        { path: "password", sensitive: true },
      ],
    };
    const output = { name: "place", action: "update" as const, sensitive: false };
    const plan_job_id = await fixture.run({ job_type: "PLAN", configuration_id }, "SUCCESS", {
      plan_summary: {
        ...emptySummary,
        counts: { ...emptySummary.counts, update: 1 },
        changes: Array.from({ length: 30 }, () => change),
        outputs: [{ ...output, attributes: [{ path: "", before: "here", after: "there" }] }],
      },
    });
    const { id } = await fixture.queue({ job_type: "DEPLOY", configuration_id, plan_job_id });
    const waiting = await page(id);
    await fixture.start();
    const running = await page(id);
    await fixture.end(id, "SUCCESS");
    await setRows(plane, "jobs", { released_at: Date.now() }, { id });
    return [waiting, running, await page(id)];
  };
  const values = (text: string) => [
    words(text).includes(' size "small" '),
    words(text).includes(" password (sensitive) "),
    words(text).includes(' place "here" → "there" '),
  ];
  const [shown, hidden] = [
    [true, true, true],
    [false, false, false],
  ];
  expect((await deploy("large")).map(values)).toEqual([shown, shown, shown]);
  expect((await deploy("large ".repeat(600))).map(values)).toEqual([hidden, hidden, shown]);
});

test.each(["SUCCESS", "FAILED", "CANCELLED"] as const)(
  "a DEPLOY that ended %s does not say that values are known after the apply",
  async (status) => {
    const configuration_id = await fixture.configure(`unknown ${status}`);
    const attribute = (path: string) => ({ path, unknown: true });
    const plan_job_id = await fixture.run({ job_type: "PLAN", configuration_id }, "SUCCESS", {
      plan_summary: {
        ...emptySummary,
        counts: { ...emptySummary.counts, create: 1 },
        changes: [{ address: "a.b", action: "create", attributes: [attribute("id")] }],
        outputs: [{ name: "x", action: "create", sensitive: false, attributes: [attribute("")] }],
        checks: [{ address: "check.c", status: "unknown" }],
      },
    });
    const read = async (id: string) => {
      const shown = dom(await page(id));
      shown.querySelector("details.markdown")?.remove();
      const text = words(shown);
      return [
        /\(known after the apply\)|known only after/.test(text),
        text.match(/not known when it was planned/g)?.length ?? 0,
      ];
    };
    const { id } = await fixture.queue({ job_type: "DEPLOY", configuration_id, plan_job_id });
    await fixture.start();
    expect(await read(id)).toEqual([true, 0]);
    await fixture.end(id, status);
    expect(await read(id)).toEqual([false, 3]);
    expect(await read(plan_job_id)).toEqual([true, 0]);
  },
);

test("a DEPLOY shows the values and the results of checks that its apply has made known", async () => {
  const configuration_id = await fixture.configure("made known");
  const unknown = [{ path: "id", unknown: true }];
  const plan_job_id = await fixture.run({ job_type: "PLAN", configuration_id }, "SUCCESS", {
    plan_summary: {
      ...emptySummary,
      counts: { ...emptySummary.counts, create: 1 },
      changes: [{ address: "a.b", action: "create", attributes: unknown }],
      checks: [{ address: "check.c", status: "unknown" }],
    },
  });
  const made_known = {
    resources: [{ address: "a.b", attributes: [{ path: "id", after: "<i-1>" }] }],
    checks: [{ address: "check.c", status: "fail" }],
  };
  const job = { job_type: "DEPLOY", configuration_id, plan_job_id } as const;
  const id = await fixture.run(job, "SUCCESS", { execution_metadata: { made_known } });
  const shown = words(await page(id));
  expect(shown).toContain('id "<i-1>"');
  expect(shown).toContain("check.c fails");
  expect(shown).not.toContain("not known when it was planned");
});

test.each(["SUCCESS", "FAILED"] as const)(
  "a plan that may leave changes out says so of the future until its deployment ends %s",
  async (status) => {
    const configuration_id = await fixture.configure(`partial ${status}`);
    const plan_job_id = await fixture.begin({ job_type: "PLAN", configuration_id });
    const counts = { ...emptySummary.counts, create: 1 };
    await fixture.end(plan_job_id, "SUCCESS", {
      plan_summary: { ...emptySummary, counts, complete: false },
    });
    const said = async (id: string) =>
      /This plan may [^]*?(?= As Markdown|$)/.exec(words(await page(id)))?.[0];
    const future = expect.stringMatching(
      /^This plan may not include all changes\. After it is applied, plan again for the rest\./,
    );
    const past = expect.stringMatching(
      status === "SUCCESS"
        ? /^This plan may not have included all changes: plan again for the rest\./
        : /^This plan may not have included all changes\.(?! After)/,
    );
    expect(await said(plan_job_id)).toEqual(future);
    const { id } = await fixture.queue({ job_type: "DEPLOY", configuration_id, plan_job_id });
    await fixture.start();
    expect([await said(plan_job_id), await said(id)]).toEqual([future, future]);
    await fixture.end(id, status);
    expect([await said(plan_job_id), await said(id)]).toEqual([past, past]);
  },
);

test("a destruction is repeated only after a question", async () => {
  const configuration_id = await fixture.configure("again");
  const id = await fixture.run({ job_type: "DESTROY", configuration_id }, "FAILED");
  expect(words(await page(id))).toContain(
    "Run it again… It destroys without a plan. Run this DESTROY again",
  );
  const { headers } = await fixture.post(`/jobs/${id}/retry`);
  const [, again = ""] = /^\/jobs\/(.*)$/.exec(String(headers["location"])) ?? [];
  await fixture.client.call("cancelJob", { params: { id: again } });
});

test("a job that was retried names its retry, and a second retry leads there", async () => {
  const configuration_id = await fixture.configure("retried");
  const plan = async () => {
    const id = await fixture.start();
    await fixture.end(id, "SUCCESS", { plan_summary: emptySummary });
    return id;
  };
  await fixture.queue({ job_type: "PLAN", configuration_id });
  const plan_job_id = await plan();
  const failed = await fixture.run({ job_type: "DEPLOY", configuration_id, plan_job_id }, "FAILED");
  const retry = async () => {
    const path = `/jobs/${failed}/retry`;
    return (await fixture.post(path)).headers["location"];
  };
  expect(words(await page(failed))).not.toMatch(/again already/);
  const first = await retry();
  expect(await retry()).toBe(first);
  const shown = await page(failed);
  expect(words(shown)).toContain("Queued again already: PLAN Queued");
  expect(texts(shown, `[href="${String(first)}"]`)).toContain("PLAN");
  expect(texts(shown, "button")).not.toContain("Plan again");
  const second = await plan();
  expect(`/jobs/${second}`).toBe(first);
  expect(words(await page(failed))).toContain(
    "Planned again already: PLAN , which is not deployed yet. Start another plan on the page of retried .",
  );
  expect(await retry()).toBe(first);
  await fixture.run({ job_type: "DEPLOY", configuration_id, plan_job_id: second }, "SUCCESS");
  expect(texts(await page(failed), "button")).toContain("Plan again");
  expect(await retry()).not.toBe(first);
  await fixture.end(await fixture.start(), "FAILED");
});

test("a lost apply says apart what it began and what is unknown, and that a step went on after its end", async () => {
  const configuration_id = await fixture.configure("lost");
  const plan_job_id = await fixture.begin({ job_type: "PLAN", configuration_id });
  const changes = ["a.begun", "a.other"].map((address) => ({ address, action: "create" }));
  const counts = { ...emptySummary.counts, create: 2 };
  await fixture.end(plan_job_id, "SUCCESS", { plan_summary: { ...emptySummary, counts, changes } });
  const job = await fixture.begin({ job_type: "DEPLOY", configuration_id, plan_job_id });
  await fixture.step(job, "apply", "started");
  await fixture.resource(job, { address: "a.begun", action: "create", event: "started" });
  await fixture.step(job, "apply", "ended", 60);
  const outcome = {
    status: "FAILED",
    outcome_unknown: 1,
    started_at: 1,
    ended_at: 90_001,
  } as const;
  await setRows(plane, "jobs", { ...outcome, released_at: 90_001 }, { id: job });
  const lost = await page(job);
  expect(lost).toContain("0 of 2 done, 1 not finished, 1 unknown");
  expect(barsIn(lost)).toEqual(["open a.begun not finished", "missed a.other unknown"]);
  const outcomes = (await fixture.read(job)).resource_progress?.resources;
  expect(outcomes?.map(({ outcome }) => outcome)).toEqual(["not_finished", "unknown"]);
  expect(words(lost)).toMatch(/, ended \d{4}-[^,]* UTC ?, after the end of the job/);
  await setRows(plane, "jobs", { presumed_lost_at: 90_001 }, { id: job });
  const back = "If the runner comes back, its report replaces this outcome.";
  expect(words(await page(job))).toContain(back);
  await setRows(plane, "jobs", { worker_id: null }, { id: job });
  const removed = words(await page(job));
  expect(removed).toContain("Its worker was removed, so its report is not accepted any more");
  expect(removed).not.toContain(back);
});

test("a running DEPLOY is cancelled after a question, a running PLAN at once", async () => {
  const questions = async (job: string) =>
    attributes(await page(job), "details form[action$=cancel]", "action");
  const deploy = await begin("DEPLOY");
  expect(await questions(deploy)).toHaveLength(1);
  await fixture.end(deploy, "SUCCESS");
  const plan = await begin("PLAN");
  expect(await questions(plan)).toEqual([]);
  expect(attributes(await page(plan), "form", "action")).toContain(`/jobs/${plan}/cancel`);
  await fixture.end(plan, "FAILED");
});

test("the page of a job whose runner is offline does not say that terraform stops", async () => {
  const user = await openSampleUser(plane);
  const configuration_id = await user.configure("network");
  const job = await user.begin({ job_type: "DEPLOY", configuration_id });
  const read = async () => words(await user.page(`/jobs/${job}`));
  const offline = / is offline, so terraform may go on until the runner is back\./;
  expect(await read()).toMatch(/Terraform stops as soon as it can[^]*Cancel: stop terraform/);
  await setRows(plane, "workers", { offline_at: Date.now() }, { id: user.worker });
  const running = await read();
  expect(running).toMatch(offline);
  expect(running).not.toMatch(/Terraform stops|stop terraform/);
  await user.client.call("cancelJob", { params: { id: job } });
  expect(await read()).toMatch(offline);
  await user.end(job, "CANCELLED");
  expect(await read()).not.toMatch(offline);
});

test("the step at which a job failed is shown as failed", async () => {
  const configuration_id = await fixture.configure("failing");
  const job = await fixture.begin({ job_type: "PLAN", configuration_id });
  for (const name of ["init", "plan"])
    for (const event of ["started", "ended"] as const) await fixture.step(job, name, event);
  await fixture.end(job, "FAILED");
  expect(stepsIn(await page(job)).slice(-3)).toEqual([
    ["done", "init"],
    ["failed", "plan"],
    ["failed", "Failed"],
  ]);
});

test("a missing variable is named with the way to set it", async () => {
  const configuration_id = await fixture.configure("without a region");
  const job = await fixture.begin({ job_type: "PLAN", configuration_id });
  const said = 'The root module input variable "region" is not set, and has no default value.';
  const text = `╷\n│ Error: No value for required variable\n│ \n│   on main.tf line 1:\n│    1: variable "region" {\n│ \n│ ${said}\n╵\n`;
  await fixture.log(job, text, "STDERR");
  const error_message = `plan failed (exit code 1): main.tf:1: No value for required variable: ${said}`;
  const failure = { kind: "missing_variables", variables: ["region"] };
  await fixture.end(job, "FAILED", { error_message, failure });
  const shown = await page(job);
  expect(words(shown)).toContain("Set region in ");
  expect(attributes(shown, "a")).toContain(`/configurations/${configuration_id}/variables`);
});

test.each([
  ["failed", "FAILED", ""],
  ["cancelled", "CANCELLED", "cancelled during apply; "],
] as const)(
  "the errors of a %s job come first, with their file and line",
  async (_, status, why) => {
    const job = await begin("DEPLOY");
    const error = (name: string) =>
      `╷\n│ Error: ${name}\n│ \n│   with x.y,\n│   on main.tf line 7, in resource "x" "y":\n│    7: x {\n│ \n│ Because.\n╵\n`;
    await fixture.log(job, error("one is wrong"), "STDERR");
    await fixture.log(job, "and something else\n", "STDOUT");
    await fixture.log(job, error("two <is> wrong"), "STDERR");
    const error_message = `${why}apply failed (exit code 1): main.tf:7: one is wrong: Because. (and 1 more error)`;
    const summary = `${why}apply failed (exit code 1)`;
    await fixture.end(job, status, { error_message, failure: { kind: "command", summary } });
    const text = dom(await page(job));
    const order = text.querySelectorAll("section.error, ol.steps, p.notice");
    const [notice, shown] = status === "CANCELLED" ? order : [undefined, ...order];
    expect(notice?.tagName).toBe(status === "CANCELLED" ? "P" : undefined);
    expect(words(shown ?? "")).toBe(
      ` ${why}apply failed (exit code 1) one is wrong x.y main.tf:7 In the log Because. 7: x { two <is> wrong x.y main.tf:7 In the log Because. 7: x { `,
    );
  },
);

test("the warnings of a job come first, with the way to their lines of the log", async () => {
  const job = await begin("PLAN");
  const warnings = [
    { summary: "Value for <undeclared> variable", detail: "Why.", file: "main.tf", line: 3 },
    { summary: "Check block assertion failed", address: "a.b" },
  ];
  await fixture.end(job, "SUCCESS", { execution_metadata: { warnings } });
  const [shown = "", steps] = dom(await page(job)).querySelectorAll("section.notice, ol.steps");
  expect(words(shown)).toBe(
    " 2 warnings Value for <undeclared> variable main.tf:3 In the log Why. Check block assertion failed a.b In the log ",
  );
  expect(steps?.tagName).toBe("OL");
  expect(attributes(shown, "a")).toContain(
    `#F${encodeURIComponent("Warning: Value for <undeclared> variable")}`,
  );
});

test("the beginning of an id leads to the only job with it", async () => {
  const configuration_id = await fixture.configure("short");
  const queue = () => fixture.queue({ job_type: "PLAN", configuration_id });
  const { id } = await queue();
  const { id: other } = await queue();
  const open = (path: string) => fixture.page(path);
  const { status, headers } = await open(`/jobs/${id.slice(0, -1).toUpperCase()}`);
  expect([status, headers["location"]]).toEqual([303, `/jobs/${id}`]);
  const several = await open(`/jobs/${id.slice(0, 4)}`);
  expect(several.status).toBe(404);
  expect(words(several)).toContain(`The ids of several jobs begin with ${id.slice(0, 4)}.`);
  expect((await open("/jobs/zzzz")).status).toBe(404);
  for (const job of [id, other]) await fixture.client.call("cancelJob", { params: { id: job } });
});

test("a plan is to come, was applied, or was to be applied", async () => {
  const counts = { ...emptySummary.counts, create: 2 };
  const changes = ["a.a", "a.b"].map((address) => ({ address, action: "create" }));
  const run = async (job_type: "PLAN" | "DEPLOY", status: "SUCCESS" | "FAILED") => {
    const job = await begin(job_type);
    await fixture.end(job, status, { plan_summary: { ...emptySummary, counts, changes } });
    return words(await page(job));
  };
  const plan = await run("PLAN", "SUCCESS");
  expect(plan).toContain("What this plan changes");
  expect(plan).toMatch(/\+ 2 to create/);
  expect(await run("DEPLOY", "SUCCESS")).toMatch(/\+ 2 created/);
  const failed = await run("DEPLOY", "FAILED");
  expect(failed).toContain("What the plan was to change");
  expect(failed).toMatch(/\+ 2 to create/);
});

test("a job shows its log until it has succeeded, then its changes, and only the tabs that it has", async () => {
  const configuration_id = await fixture.configure("planned");
  const shown = async (id: string) => {
    const read = dom(await page(id));
    const [panel] = read.querySelectorAll(".panel.shown").map((one) => one.id);
    return [panel, ...texts(read, ".tabs a").map((text) => text.replaceAll(/\s+/g, " ").trim())];
  };
  const plan = await fixture.begin({ job_type: "PLAN", configuration_id });
  expect(await shown(plan)).toEqual(["log", "Log", "Details"]);
  const counts = { ...emptySummary.counts, create: 1 };
  const changes = [{ address: "a.b", action: "create" }];
  await fixture.end(plan, "SUCCESS", { plan_summary: { ...emptySummary, counts, changes } });
  expect(await shown(plan)).toEqual(["changes", "Changes 1", "Log", "Graph", "Details"]);
  const deploy = await fixture.begin({ job_type: "DEPLOY", configuration_id, plan_job_id: plan });
  await fixture.step(deploy, "apply", "started");
  await fixture.resource(deploy, { address: "a.b", action: "create", event: "started" });
  const tabs = ["Changes 1", "Log", "Resources 1", "Graph", "Details"];
  expect(await shown(deploy)).toEqual(["log", ...tabs]);
  expect(attributes(await page(deploy), ".steps a", "href")).toEqual([
    expect.stringMatching(/^#C\d+$/),
  ]);
  await fixture.end(deploy, "SUCCESS");
  expect(await shown(deploy)).toEqual(["changes", ...tabs]);
});

test("a job from git names the address, the ref and the commit that it ran", async () => {
  const configuration_id = await fixture.configure(`git ${randomUUID()}`);
  const source = { type: "git", url: "https://git.example.com/app", ref: "main" } as const;
  const change = { params: { name: configuration_id }, body: { source } };
  await fixture.client.call("updateConfiguration", change);
  const job = await fixture.begin({ job_type: "PLAN", configuration_id });
  expect(words(await page(job))).toContain("Source https://git.example.com/app at main Worker");
  const source_commit = "0123456789abcdef0123456789abcdef01234567";
  await fixture.end(job, "FAILED", { execution_metadata: { source_commit } });
  expect(words(await page(job))).toContain(
    `Source https://git.example.com/app at main, commit ${source_commit} Worker`,
  );
});

test("a job that waits names the label that it lacks, here and in lists", async () => {
  const configuration_id = await fixture.configure(`labels ${randomUUID()}`);
  const { id } = await fixture.queue({ job_type: "PLAN", configuration_id, labels: ["gpu", "us"] });
  const text =
    "No worker has all of the labels gpu, us: give them to a worker that is to run the job.";
  for (const path of [`/jobs/${id}`, "/jobs", "/", `/configurations/${configuration_id}`])
    expect(words(await fixture.page(path))).toContain(text);
  await fixture.client.call("cancelJob", { params: { id } });
});

test("a job that waits for a draining worker has a link to it, here and in lists", async () => {
  const { worker_id } = await fixture.client.call("createWorker", {
    body: { name: "eu-1", labels: ["drained"] },
  });
  const now = Date.now();
  await setRows(plane, "workers", { last_heartbeat_at: now, draining_at: now }, { id: worker_id });
  const configuration_id = await fixture.configure(`drained ${randomUUID()}`);
  const { id } = await fixture.queue({ job_type: "PLAN", configuration_id, labels: ["drained"] });
  for (const path of [`/jobs/${id}`, "/jobs", "/", `/configurations/${configuration_id}`]) {
    const shown = await fixture.page(path);
    expect(words(shown)).toContain("end the drain of eu-1 , or start another runner.");
    expect(texts(shown, `[href="/workers/${worker_id}"]`)).toContain("eu-1");
  }
  await fixture.client.call("cancelJob", { params: { id } });
});

test("a job that waits for another one has a link to it, here and in lists", async () => {
  const configuration_id = await fixture.configure(`busy ${randomUUID()}`);
  const first = await fixture.begin({ job_type: "PLAN", configuration_id });
  const { id } = await fixture.queue({ job_type: "PLAN", configuration_id });
  for (const path of [`/jobs/${id}`, "/jobs", "/"]) {
    const shown = await fixture.page(path);
    expect(words(shown)).toContain(" Another job of this configuration is still running.");
    expect(texts(shown, `[href="/jobs/${first}"]`)).toContain("Another job of this configuration");
  }
  await fixture.client.call("cancelJob", { params: { id } });
  await fixture.end(first, "SUCCESS");
});

test("a long output is folded, with its own lines or as JSON of several", async () => {
  const job = await begin("DEPLOY");
  const outputs = {
    key: { type: "string", sensitive: false, value: "-----BEGIN\nMII\n" },
    map: { type: "dynamic", sensitive: false, value: { a: "x".repeat(150) } },
  };
  await fixture.end(job, "SUCCESS", { execution_metadata: { outputs } });
  const { text } = await fixture.page(`/jobs/${job}`);
  expect(texts(text, "code")).toContain("-----BEGIN…");
  const folded = dom(text)
    .querySelectorAll("pre[tabindex=0]")
    .map((value) => value.text);
  expect(folded).toContain("-----BEGIN\nMII\n");
  expect(folded).toContain(`{\n  "a": "${"x".repeat(150)}"\n}`);
});

test("an output shows the characters that would change the order of its text", async () => {
  const job = await begin("DEPLOY");
  const outputs = { address: { type: "string", sensitive: false, value: "a\u202Ecba" } };
  await fixture.end(job, "SUCCESS", { execution_metadata: { outputs } });
  const { text } = await fixture.page(`/jobs/${job}`);
  expect(texts(text, "code")).toContain("a\\u202ecba");
});

test("an output that is too large to be kept has its size and a link to the state", async () => {
  const job = await begin("DEPLOY");
  const outputs = {
    large: { type: "string", sensitive: false, omitted_bytes: 268_891 },
    secret: { type: "string", sensitive: true },
    negative: { type: "number", sensitive: false, value: -1e21 },
    nothing: { type: "dynamic", sensitive: false, value: null },
    bare: { a: 1 },
  };
  await fixture.end(job, "SUCCESS", { execution_metadata: { outputs, outputs_omitted: 12 } });
  const { configuration_id } = await fixture.read(job);
  await setRows(plane, "specs", { deployed_backend: "managed" }, { id: String(configuration_id) });
  for (const path of [`/jobs/${job}`, `/configurations/${configuration_id}`]) {
    const said = await fixture.page(path);
    for (const text of [
      "large 268,891 bytes: too large to be kept here. The state has it",
      "secret sensitive: not kept here. The state has it",
      "negative -1000000000000000000000",
      "nothing null",
      'bare {"a":1}',
      "12 more outputs: too many to be kept here. The state has them.",
    ])
      expect([path, words(said)]).toEqual([path, expect.stringContaining(text)]);
    expect(texts(said, "[href$='/state']")).toContain("The state");
  }
});

test("the message of a failed apply ends with one period", async () => {
  const job = await begin("DEPLOY");
  await fixture.end(job, "FAILED", { error_message: "Could not read from remote repository." });
  const { configuration_id } = await fixture.read(job);
  // The next failure has a message of its own.
  await setRows(plane, "specs", { error_message: "another" }, { id: String(configuration_id) });
  const path = `/configurations/${configuration_id}`;
  const said = words(await fixture.page(path));
  expect(said).toContain("Could not read from remote repository. This stays here");
});

test("a job says who created it, and links its worker", async () => {
  const shown = await page(await begin("PLAN"));
  expect(words(shown)).toMatch(new RegExp(` Running .* by ${fixture.email} `));
  expect(attributes(shown, "a")).toContain(`/workers/${fixture.worker}`);
  expect(words(shown)).toContain("Time limit 1 h ");
});
