/** Finds a job by its id, by the beginning of its id, or as the latest one of a configuration. */
import type { Job, JobType } from "../../protocol/jobs.ts";
import { idPrefixLength } from "../../protocol/limits.ts";
import { ambiguous, listedAtMost } from "../api/find.ts";
import { idPrefixOf, isWholeId } from "../api/ids.ts";
import { readPages } from "../api/pages.ts";
import { teamWords } from "../api/team.ts";
import { configurationOf, inSpaceOf } from "../configurations/find.ts";
import { spaceHint } from "../teams/elsewhere.ts";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { nameOf } from "./words.ts";

interface Choice {
  /** `-` is the latest job of this configuration, not of the one of the current directory. */
  readonly configuration?: { readonly id: string; readonly name: string } | undefined;
  /** `-` is the latest job of this type. */
  readonly type?: JobType | undefined;
}

interface FoundJob {
  /** In the space of the job: `-` also finds a configuration of a team that was not named. */
  readonly run: Run;
  readonly id: string;
}

/** Returns the id of the job that `text` names. Throws `CliError` unless it is exactly one. */
export async function findJob(run: Run, text: string, choice: Choice = {}): Promise<FoundJob> {
  if (text === "-") {
    const here = choice.configuration
      ? { run, configuration: choice.configuration }
      : await inSpaceOf(run, "-", latestOf);
    return { run: here.run, id: await latest(here.run, here.configuration, choice) };
  }
  // Only the last `/-` counts: names may end so too.
  if (text.endsWith("/-")) {
    const configuration = await configurationOf(run.api, text.slice(0, -2), latestOf);
    return { run, id: await latest(run, configuration, choice) };
  }
  const prefix = idPrefixOf(text);
  if (prefix === undefined)
    throw new CliError(
      `"${text}" does not name a job. Pass an id or its first ${idPrefixLength} characters or more, or NAME/- for the latest job of the configuration NAME. To see the jobs: windlass jobs list${teamWords(run.api.team)}`,
    );
  return { run, id: isWholeId(prefix) ? prefix : await byPrefix(run, prefix) };
}

/** Stands for the latest job of a configuration. */
const latestOf = (name: string): string => `${name}/-`;

async function latest(
  { api }: Run,
  { id, name }: NonNullable<Choice["configuration"]>,
  { type }: Choice,
): Promise<string> {
  const query = { configuration: id, ...(type === undefined ? {} : { job_type: type }) };
  const {
    items: [job],
  } = await readPages(1, async (page) => {
    const { jobs, next_cursor } = await api.call("listJobs", { query: { ...query, ...page } });
    return { items: jobs, next_cursor };
  });
  if (job) return job.id;
  throw new CliError(`"${name}" has no ${type === undefined ? "job" : type} yet.`);
}

async function byPrefix({ api }: Run, prefix: string): Promise<string> {
  const { jobs } = await api.call("listJobs", {
    query: { id_prefix: prefix, limit: listedAtMost + 1 },
  });
  const [first, ...others] = jobs;
  if (!first) {
    const query = { id_prefix: prefix, limit: 1 };
    const hint = await spaceHint(
      api,
      async (other) => (await other.call("listJobs", { query })).jobs.length > 0,
    );
    throw new CliError(
      `There is no job whose id begins with ${prefix}.${hint || ` To see the jobs: windlass jobs list${teamWords(api.team)}`}`,
    );
  }
  if (others.length > 0) throw ambiguous("jobs", prefix, jobs, describe);
  return first.id;
}

const describe = (job: Job): string => `${nameOf(job)}, ${job.status}`;
