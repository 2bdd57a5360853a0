import { validate } from "uuid";
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import { findJobPage } from "../../services/jobs/jobs.ts";
import { findConfigurationName } from "../../services/configurations/configurations.ts";
import type { SignedIn } from "../signed-in.ts";
import {
  endOf,
  ignoredIn,
  readFilter,
  startOf,
  wrongDaysIn,
  type JobsFilter,
} from "./jobs-filter.ts";
import { jobsPage } from "./jobs-page.ts";
import { time } from "../../domain/moments.ts";

const shown = 100;
/** How often an open page is redrawn, in seconds. */
const refresh = 2;

export function jobsPages(pages: SignedIn, context: Context): void {
  pages.get("/jobs", "listJobs", async (caller, { query }) => {
    const { before } = query as Record<string, unknown>;
    const filter = readFilter(query);
    const [page, configuration] = await Promise.all([
      findPage(context, caller, filter, typeof before === "string" ? before : ""),
      filter.configuration === undefined
        ? undefined
        : findConfigurationName(context, caller, filter.configuration),
    ]);
    const { jobs, next, searchedUntil } = page;
    const body = jobsPage({
      jobs,
      filter,
      ignored: ignoredIn(query, filter),
      wrongDays: wrongDaysIn(query, filter),
      configuration,
      next,
      searchedUntil: searchedUntil === undefined ? undefined : time(searchedUntil),
      email: caller.email,
      now: time(context.now()),
    });
    // A search through the history is not repeated every few seconds.
    const live = searchedUntil === undefined ? { refresh } : {};
    return { title: "Jobs", body, at: "/jobs", ...live };
  });
}

const findPage = (
  context: Context,
  caller: UserCaller,
  { status, job_type: type, configuration, name, by, since, until }: JobsFilter,
  before: string,
) =>
  findJobPage(context, caller, {
    status,
    type,
    configuration,
    name,
    by,
    since: startOf(since),
    until: endOf(until),
    before: validate(before) ? before : undefined,
    limit: shown,
  });
