/** `windlass jobs logs`. */
import { print, say } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { time } from "../terminal/times.ts";
import { followJob } from "./follow.ts";
import { logLines } from "./log-lines.ts";
import { findJob } from "../jobs/find.ts";
import { reportOutcome, watchJob } from "../jobs/watch.ts";

export interface LogsOptions {
  readonly follow?: true | undefined;
}

/** Prints the log so far, or with `--follow` all of it until the job ends. */
export async function logs(current: Run, named: string, { follow }: LogsOptions): Promise<void> {
  const { run, id } = await findJob(current, named);
  // Fails early if the job does not exist. A connection that breaks later is reopened.
  const job = await run.api.call("getJob", { params: { id } });
  if (job.log_pruned_at !== null)
    return say(`The log was removed by retention at ${time(job.log_pruned_at)}.`);
  if (follow && run.json) {
    await followJob(run.api, id, {
      signal: run.signal,
      onChunk: (chunk) => print(JSON.stringify(chunk)),
      onProgress: () => undefined,
      onTrouble: (why) => why !== undefined && say(why),
    });
    return reportOutcome(run, await run.api.call("getJob", { params: { id } }));
  }
  if (follow) return reportOutcome(run, await watchJob(run, job));
  const lines = logLines(print);
  let after: number | null = 0;
  while (after !== null) {
    const query: { after: number; limit: number } = { after, limit: 1000 };
    const page = await run.api.call("getJobLogs", { params: { id }, query });
    for (const chunk of page.logs) {
      if (run.json) print(JSON.stringify(chunk));
      else lines.add(chunk);
    }
    after = page.next_after;
  }
  lines.flush();
}
