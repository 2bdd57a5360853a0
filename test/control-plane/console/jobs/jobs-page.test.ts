/** The list of jobs, its filters, and the strips of runs. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { listRuns } from "../../../../control-plane/services/jobs/runs.ts";
import { setRows } from "../../../helpers/plane/plane.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";
import { attributes, dom, texts, words } from "../../../helpers/console/forms.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
/** The ids of what ran: of "network" a deploy that changed two resources and a failed plan. */
const ran: Record<string, string> = {};
let network: string;
beforeAll(async () => {
  fixture = await openSampleUser(plane, "ada@example.com");
  network = await fixture.configure("network");
  const other = await fixture.configure("shop frontend");
  const run = async (name: string, job_type: "PLAN" | "DEPLOY" | "DESTROY", on: string) => {
    await fixture.queue({ job_type, configuration_id: on });
    ran[name] = await fixture.start();
    return ran[name];
  };
  await fixture.end(await run("deploy", "DEPLOY", network), "SUCCESS", {
    plan_summary: twoChanges,
  });
  await fixture.end(await run("failed", "PLAN", network), "FAILED", { error_message: "no" });
  await fixture.end(await run("silent", "DESTROY", other), "SUCCESS");
});

const counts = { ...emptySummary.counts, create: 2, delete: 1 };
const twoChanges = {
  ...emptySummary,
  counts,
};

const page = (path: string) => fixture.page(path);
/** The names of the jobs on a page, newest first. */
const listed = async (query: string): Promise<(string | undefined)[]> => {
  const links = attributes(await page(`/jobs${query}`), "[data-head=Job] > a");
  return links.map((link) => Object.keys(ran).find((name) => `/jobs/${ran[name]}` === link));
};

describe("the list of jobs", () => {
  const today = new Date().toISOString().slice(0, 10);
  test.each([
    ["", ["silent", "failed", "deploy"]],
    ["?job_type=PLAN", ["failed"]],
    ["?status=SUCCESS", ["silent", "deploy"]],
    ["?status=SUCCESS&job_type=DESTROY", ["silent"]],
    ["?name=NETW", ["failed", "deploy"]],
    ["?name=NETW&job_type=DEPLOY", ["deploy"]],
    ["?by=ada@example.com", ["silent", "failed", "deploy"]],
    ["?by=grace@example.com", []],
    ["?by=ADA", ["silent", "failed", "deploy"]],
    ["?by=a@ex&name=NETW&status=SUCCESS", ["deploy"]],
    ["?by=a%25e", []],
    ["?since=2001-01-01", ["silent", "failed", "deploy"]],
    ["?until=2001-01-01", []],
    [
      "?since=yesterday&status=DONE&job_type=X&configuration=x&before=x",
      ["silent", "failed", "deploy"],
    ],
  ])("with the filter %s shows %j", async (query, names) => {
    expect(await listed(query)).toEqual(names);
  });

  test("says which parts of the address filter nothing", async () => {
    const said = words(await page("/jobs?status=DONE&from=2026-01-01&job_type=PLAN&name="));
    expect(said).toContain("which is ignored: status=DONE from=2026-01-01");
  });

  test.each(["garbage", "2026-02-30", "2026-1-1", "<b>", "2026-01-01&since=2026-01-02"])(
    "says beside a day that %s is none",
    async (given) => {
      const { status, text } = await page(`/jobs?since=${given}&until=2001-01-01`);
      expect(status).toBe(200);
      const value = given.replace("&since=", ",");
      expect(words(text)).toContain(
        `Since (UTC): “${value}” is not a day such as 2026-11-24, so it filters nothing.`,
      );
      expect(dom(text).querySelector("[name=since]")?.attributes).toMatchObject({
        value: "",
        "aria-invalid": "true",
        "aria-describedby": "since-wrong",
      });
      expect(text).not.toContain("until-wrong");
      expect(text).not.toContain("which is ignored");
    },
  );

  test("says that no job can match a time that ends before it begins", async () => {
    const said = words(await page("/jobs?since=2026-11-25&until=2026-11-24"));
    expect(said).toContain("No job can match: 2026-11-25 is later than 2026-11-24. Show all");
  });

  test("says that the days of its filter are those of UTC", async () => {
    expect(words(await page("/jobs"))).toMatch(/Since \(UTC\) .*Until \(UTC\)/);
  });

  test("is filtered by configuration, and says by which", async () => {
    expect(await listed(`?configuration=${network}&since=${today}`)).toEqual(["failed", "deploy"]);
    const said = words(await page(`/jobs?configuration=${network}`));
    expect(said).toContain("Only network . Show every configuration");
  });

  test("says of each job who created it and, of one that succeeded, what it did", async () => {
    const said = words(await page("/jobs"));
    expect(said).toMatch(/DEPLOY network Succeeded .* ada@example\.com \+2 −1/);
    expect(said).toMatch(
      /DESTROY shop frontend Succeeded .* ada@example\.com everything destroyed/,
    );
  });
});

test("a cancelled job says who cancelled it, and whether it had started", async () => {
  const configuration_id = await fixture.configure("cancelled");
  const cancel = (id: string) => fixture.client.call("cancelJob", { params: { id } });
  const waiting = await fixture.queue({ job_type: "PLAN", configuration_id });
  await cancel(waiting.id);
  const started = await fixture.begin({ job_type: "PLAN", configuration_id });
  await cancel(started);
  await fixture.end(started, "CANCELLED");
  await fixture.run({ job_type: "PLAN", configuration_id }, "CANCELLED");
  const said = words(await page(`/configurations/${configuration_id}`));
  expect(said).toMatch(/Cancelled [^A-Z]*ada@example\.com cancelled by its runner /);
  expect(said).toMatch(/Cancelled [^A-Z]*ada@example\.com cancelled by ada@example\.com PLAN/);
  expect(said).toContain("cancelled by ada@example.com before it started");
  expect((await fixture.read(started)).cancelled_by).toBe("ada@example.com");
  expect(words(await page(`/jobs/${started}`))).toMatch(
    /Cancelled by ada@example\.com, \d{4}-\d\d-\d\d [\d:]+ UTC \./,
  );
});

test("a zone shows the last runs of each configuration: outcome, duration, changes and who", async () => {
  const strips = dom(await page(`/zones/${fixture.owner.zone}`)).querySelectorAll("span.strip");
  expect(strips).toHaveLength(3);
  const strip = strips.map(String).find((one) => one.includes(network)) ?? "";
  expect(strip).toMatch(/DEPLOY succeeded · [\d.]+\u00a0s · \+2 −1 · ada@example\.com · \d{4}-/);
  expect(strip).toMatch(/PLAN failed · [\d.]+\u00a0s · ada@example\.com/);
  expect(strip).toContain("1 of 2 succeeded, 1 failed");
});

test("a configuration shows its last runs as a chart, with the same in words", async () => {
  const chart = dom(await page(`/configurations/${network}`)).querySelector("figure")!;
  expect(words(chart)).toMatch(/Last 2 runs 1 of 2 succeeded, 1 failed /);
  expect(words(chart)).toContain("what each run changed: create update delete or replace");
  // The newest run is to the right, and each leads to its job.
  const [failed, deploy] = chart.querySelectorAll("a");
  expect(attributes(chart, 'a[tabindex="-1"]')).toEqual(
    [ran["failed"], ran["deploy"]].map((id) => `/jobs/${id}`),
  );
  const lefts = (bars: typeof failed, kind: string) =>
    attributes(bars!, `path.${kind}`, "d").map((d) => d?.split(" ")[0]);
  expect(lefts(failed, "FAILED")).toEqual(["M292"]);
  expect(["SUCCESS", "create", "delete", "update"].map((kind) => lefts(deploy, kind))).toEqual([
    ["M282"],
    ["M282"],
    ["M282"],
    [],
  ]);
});

test("the search and variable sets show the last runs of configurations in short", async () => {
  const { id } = await fixture.client.call("createVariableSet", {
    body: { name: "shared" },
  });
  await fixture.post(`/variable-sets/${id}/configurations`, {
    configuration: network,
    do: "attach",
  });
  for (const path of ["/search?q=netw", `/variable-sets/${id}`]) {
    const strips = dom(await page(path)).querySelectorAll("svg.short-strip");
    const strip = strips.find((one) =>
      String(one).includes("Last runs: 1 of 2 succeeded, 1 failed"),
    );
    // The newest run is to the right.
    for (const [status, left] of [
      ["SUCCESS", "M0 22v"],
      ["FAILED", "M7 22v"],
    ] as const)
      expect(attributes(strip ?? "", `path.${status}`, "d")).toContainEqual(
        expect.stringMatching(new RegExp(`^${left}-\\d+h5v\\d+z$`)),
      );
  }
});

test("the last runs are the thirty newest of each configuration", async () => {
  const [one, other] = [await fixture.configure("often"), await fixture.configure("seldom")];
  const ids: string[] = [];
  for (let run = 0; run < 32; run += 1) {
    const configuration_id = run % 16 === 5 ? other : one;
    const { id } = await fixture.queue({ job_type: "PLAN", configuration_id });
    await fixture.client.call("cancelJob", { params: { id } });
    if (configuration_id === one) ids.unshift(id);
  }
  const rest = await fixture.queue({ job_type: "PLAN", configuration_id: one });
  await fixture.client.call("cancelJob", { params: { id: rest.id } });
  const runs = await listRuns(plane.context, [one, other, randomUUID()]);
  expect(runs.get(one)?.map(({ id }) => id)).toEqual([rest.id, ...ids].slice(0, 30));
  expect(runs.get(other)).toHaveLength(2);
  expect(runs.size).toBe(2);
});

test("the last runs count what runs and waits apart from what has ended", async () => {
  const configuration_id = await fixture.configure("counted");
  const shown = async (): Promise<string> =>
    words(await page(`/configurations/${configuration_id}`));
  const first = await fixture.queue({ job_type: "PLAN", configuration_id });
  expect(await shown()).toContain("ago PLAN: queued");
  await fixture.end(await fixture.start(), "CANCELLED");
  const running = await fixture.begin({ job_type: "PLAN", configuration_id });
  const last = await fixture.queue({ job_type: "PLAN", configuration_id });
  expect(await shown()).toContain(" 0 of 1 succeeded, 1 cancelled, 1 running, 1 waiting ");
  await fixture.client.call("cancelJob", { params: { id: last.id } });
  await fixture.end(running, "SUCCESS");
  expect(await shown()).toContain(" 1 of 3 succeeded, 2 cancelled ");
  expect(first.status).toBe("QUEUED");
});

test("an empty cell is marked, so that a narrow screen leaves it out", async () => {
  expect(attributes(await page("/jobs"), "[data-head=Created]", "class")).toContain(undefined);
  const waiting = await fixture.queue({
    job_type: "PLAN",
    configuration_id: await fixture.configure("waiting"),
  });
  expect(texts(await page("/jobs"), "[data-head=Took].blank")).toContain("–");
  await fixture.client.call("cancelJob", { params: { id: waiting.id } });
});

test("the list has when a job was created, as the client's list, and its end beside the duration", async () => {
  const configuration_id = await fixture.configure("slow");
  const job = await fixture.queue({ job_type: "PLAN", configuration_id });
  await fixture.end(await fixture.start(), "SUCCESS");
  const [created, ended] = [1_700_000_000_000, 1_700_000_600_000];
  const times = { created_at: created, started_at: ended - 60_000, ended_at: ended };
  await setRows(plane, "jobs", times, { id: job.id });
  const shown = await page("/jobs?name=slow");
  expect(attributes(shown, "[data-head=Created] time", "datetime")).toEqual([
    "2023-11-14T22:13:20.000Z",
  ]);
  const took =
    '[data-head=Took] time[datetime="2023-11-14T22:23:20.000Z"][title="ended 2023-11-14 22:23:20 UTC"]';
  expect(texts(shown, took)).toEqual(["1 min"]);
  expect(attributes(shown, "input", "placeholder")).toContain("Part of a name");
});

test("a plan to destroy everything is named so in lists and on its page", async () => {
  const configuration_id = await fixture.configure("doomed");
  const { id } = await fixture.queue({ job_type: "PLAN", configuration_id, destroy: true });
  for (const path of ["/", "/jobs", `/configurations/${configuration_id}`])
    expect(texts(await page(path), `[href="/jobs/${id}"]`)).toContain("PLAN to destroy");
  expect(words(await page(`/configurations/${configuration_id}`))).toContain(
    " PLAN to destroy Queued",
  );
  expect(words(await page(`/jobs/${id}`))).toContain("PLAN to destroy doomed");
  await fixture.client.call("cancelJob", { params: { id } });
});

test("a destruction that planned by itself shows how many resources it destroyed", async () => {
  const configuration_id = await fixture.configure("gone");
  const job = await fixture.begin({ job_type: "DESTROY", configuration_id });
  for (const address of ["a.a", "a.b"])
    for (const event of ["started", "ended"] as const)
      await fixture.resource(job, { address, action: "delete", event });
  await fixture.resource(job, { address: "a.c", action: "delete", event: "started" });
  await fixture.end(job, "SUCCESS");
  expect((await fixture.read(job)).changes).toMatchObject({ create: 0, delete: 2 });
  expect(words(await page(`/configurations/${configuration_id}`))).toMatch(
    /DESTROY Succeeded .* −2 Schedules /,
  );
  expect(words(await page(`/jobs/${job}`))).toContain("− 2 destroyed");
});

test("a job of a deleted configuration keeps its name, without a link", async () => {
  const user = await openSampleUser(plane);
  const gone = await user.configure("gone");
  await user.run({ job_type: "PLAN", configuration_id: gone }, "FAILED");
  const links = async () => attributes(await user.page("/jobs"), "[data-head=Configuration] a");
  expect(await links()).toEqual([`/configurations/${gone}`]);
  await user.client.call("deleteConfiguration", { params: { name: gone } });
  expect(await links()).toEqual([]);
  expect(texts(await user.page("/jobs"), "td[data-head=Configuration]")).toEqual(["gone"]);
});
