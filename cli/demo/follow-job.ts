/** Follows a job to its end and hands over its log line by line while it is written. */
import { setTimeout as sleep } from "node:timers/promises";
import { jobEndpoints } from "../../protocol/job-endpoints.ts";
import type { Job } from "../../protocol/jobs.ts";
import type { Api } from "./api.ts";

/** Reads the log until the job has ended, then what is left of it. Answers the ended job. */
export async function followJob(api: Api, id: string, show: (line: string) => void): Promise<Job> {
  const params = { id };
  let after = 0;
  let unfinished = "";
  for (;;) {
    // The job first, then its log: when it had ended before the log was read, the log was complete.
    const job = await api(jobEndpoints.getJob, { params });
    const page = await api(jobEndpoints.getJobLogs, { params, query: { after, limit: 1000 } });
    after = page.logs.at(-1)?.id ?? after;
    // A chunk ends anywhere, also within a line or a colour: only whole lines are shown.
    const lines = (unfinished + page.logs.map((one) => one.log_chunk).join("")).split("\n");
    unfinished = lines.pop() ?? "";
    for (const line of lines) show(line);
    if (page.next_after !== null) continue;
    if (job.ended_at !== null) {
      if (unfinished !== "") show(unfinished);
      return job;
    }
    await sleep(100);
  }
}
