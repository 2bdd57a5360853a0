import { findDriftedAmong } from "../../services/configurations/attention.ts";
import { listRuns } from "../../services/jobs/runs.ts";
import { search, searchJobs } from "../../services/search/search.ts";
import type { Context } from "../../services/context.ts";
import type { SignedIn } from "../signed-in.ts";
import { searchPage } from "./search-page.ts";
import { time } from "../../domain/moments.ts";

export function searchPages(pages: SignedIn, context: Context): void {
  pages.get("/search", "read", async (caller, { query }) => {
    const { q } = query as Record<string, unknown>;
    const text = typeof q === "string" ? q.trim() : "";
    const [found, jobs] = await Promise.all([
      search(context, caller, text),
      searchJobs(context, caller, text),
    ]);
    const configurations = found.find(({ kind }) => kind === "configurations")?.things ?? [];
    const ids = configurations.map(({ id }) => id);
    const [runs, drifted] = await Promise.all([
      listRuns(context, ids),
      findDriftedAmong(context, caller, ids),
    ]);
    const body = searchPage({ text, found, jobs, runs, drifted }, time(context.now()));
    return { title: "Search", body, search: text };
  });
}
