/** Reads everything that was acknowledged, as users and runners do. */
import { sha256 } from "./acknowledged.ts";
import type { Load } from "./load.ts";

/** Returns what is not served exactly as it was acknowledged. */
export async function findUnserved(load: Load): Promise<string[]> {
  const { acknowledged, person: headers } = load;
  const found: string[] = [];
  for (const [job, chunks] of acknowledged.logs) {
    const answer = await load.call("GET", `/api/cli/jobs/${job}/logs`, { headers });
    const { logs } = answer.json() as { logs: { log_chunk: string }[] };
    const wanted = chunks.toSorted((a, b) => a.seq - b.seq).map(({ text }) => text);
    if (logs.map(({ log_chunk }) => log_chunk).join("\n") !== wanted.join("\n"))
      found.push(`the log of job ${job}`);
  }
  for (const [name, versions] of acknowledged.states)
    for (const [serial, content] of versions) {
      const path = `/api/cli/configurations/${name}/state/versions/${serial}`;
      if (!(await load.call("GET", path, { headers })).body.equals(content))
        found.push(`state ${serial} of ${name}`);
    }
  for (const [job, digest] of acknowledged.artifacts) {
    const answer = await load.call("GET", `/api/jobs/${job}/plan-artifact`, {
      headers: load.holders.get(job) ?? {},
    });
    if (sha256(answer.body) !== digest) found.push(`the plan of job ${job}`);
  }
  for (const job of acknowledged.ended.keys()) {
    const { status } = (await load.call("GET", `/api/cli/jobs/${job}`, { headers })).json();
    if (status !== "SUCCESS") found.push(`job ${job}, which is ${String(status)}`);
  }
  return found;
}
