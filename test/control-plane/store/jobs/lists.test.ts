/** Pages of jobs that several filters select, on a long history. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fillHistory, type History } from "../../../../bench/lib/history.ts";
import {
  findJobIds,
  findJobPage,
  searchedJobs,
} from "../../../../control-plane/store/jobs/lists.ts";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import type { Store } from "../../../../control-plane/store/db.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const finished = 2 * searchedJobs + 500;
const directory = folderForFile();
let history: History;
let store: Store;
beforeAll(async () => {
  history = await fillHistory(directory, { finished, queued: 10 });
  store = await openSqlite(join(directory, "windlass.db"));
});
afterAll(() => store.close());

type Filter = Omit<Parameters<typeof findJobPage>[1], "owner" | "limit">;
const find = (filter: Filter, limit = 100) =>
  findJobPage(store.read, { owner: history.owner, limit, ...filter });

/** Follows the pages to the end. Returns the ids, and how many pages there were. */
async function all(filter: Filter): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  for (let pages = 1, before: string | undefined; ; pages += 1) {
    const page = await find({ ...filter, before }, 1000);
    ids.push(...page.jobs.map(({ id }) => id));
    if (page.next === undefined) return { ids, pages };
    before = page.next;
  }
}

describe("a page of jobs", () => {
  it.each<[string, Filter]>([
    ["a configuration", { configuration: "00000000-0000-7000-8000-000000000001" }],
    ["a person", { createdBy: "bench@example.com" }],
    ["a type", { type: "PLAN" }],
    ["an outcome", { status: "FAILED" }],
  ])("of %s is full at once, without a search", async (_, filter) => {
    const { jobs, searchedUntil } = await find(filter, 20);
    expect(jobs).toHaveLength(20);
    expect(searchedUntil).toBeUndefined();
  });

  it("of several filters searches a bounded part of the history, and continues where it ended", async () => {
    const filter: Filter = {
      type: "PLAN",
      name: "Configuration-7",
      createdBy: "bench@example.com",
    };
    const first = await find({ ...filter, name: "no such name" });
    expect(first).toMatchObject({ jobs: [], next: expect.any(String) });
    expect(first.searchedUntil).toBeGreaterThan(0);
    const { ids, pages } = await all(filter);
    expect(pages).toBe(3);
    const rows = await store.read.sql
      .selectFrom("jobs")
      .innerJoin("specs", "specs.id", "jobs.spec_id")
      .select("jobs.id")
      .where("job_type", "=", "PLAN")
      .where("created_by", "=", "bench@example.com")
      .where("name", "like", "configuration-7%")
      .orderBy("jobs.id", "desc")
      .execute();
    expect(ids).toEqual(rows.map(({ id }) => id));
    expect(ids.length).toBeGreaterThan(100);
  });

  it("of a part of a person's name searches a bounded part of the history", async () => {
    const page = await find({ creator: "no such person" });
    expect(page).toMatchObject({ jobs: [], next: expect.any(String) });
    const whole = await all({ createdBy: "bench@example.com" });
    const part = await all({ creator: "BENCH@" });
    expect(part.ids).toEqual(whole.ids);
    expect(part.ids.length).toBeGreaterThan(100);
  });

  it("of the beginning of an id has the jobs that it selects, and continues", async () => {
    const { jobs } = await find({}, 1000);
    const { id } = jobs[700]!;
    const filter = { owner: history.owner, prefix: id.slice(0, 8) };
    const alike = jobs.map((job) => job.id).filter((one) => one.startsWith(filter.prefix));
    expect(alike.length).toBeGreaterThan(1);
    const first = await findJobIds(store.read, { ...filter, limit: 1 });
    expect(first).toMatchObject({ jobs: [{ id: alike[0] }], next: alike[0] });
    const rest = await findJobIds(store.read, { ...filter, before: alike[0], limit: 1000 });
    expect(rest.jobs.map((job) => job.id)).toEqual(alike.slice(1));
    expect(rest.next).toBeUndefined();
  });

  it("of a time has the jobs that were created in it", async () => {
    const { jobs } = await find({ status: "SUCCESS" }, 50);
    const [newest, oldest] = [jobs[10]!, jobs[40]!];
    const between = await find({ since: oldest.created_at, until: newest.created_at });
    expect(between.jobs.map(({ id }) => id)).toEqual(jobs.slice(11, 41).map(({ id }) => id));
  });
});
