/** What all messages to people have: a sentence, facts, and the page to open. */
import type { NotificationEvent } from "../../../../protocol/notification-events.ts";
import { changesText, jobTypeWords } from "../../../../protocol/words.ts";
import { shownWord } from "../event-text.ts";

export interface Fact {
  readonly name: string;
  readonly value: string;
}

/** The page that shows it; null if there is none. */
export function linkOf({
  job,
  configuration,
  data: { pull_request },
}: NotificationEvent): { title: string; url: string } | null {
  if (job) return { title: "Open the job", url: job.url };
  if (pull_request) return { title: "Open the pull request", url: pull_request.url };
  return configuration && { title: "Open the configuration", url: configuration.url };
}

export function factsOf(event: NotificationEvent): Fact[] {
  const { space, zone, configuration, job, actor, type, time, data } = event;
  const facts: Record<string, string | null | undefined> = {
    Space: space.name,
    Zone: zone?.name,
    Configuration: configuration?.name,
    "Pull request": data.pull_request && `${data.pull_request.name}, ${data.pull_request.title}`,
    Job: job && `${jobTypeWords(job.job_type, null)}, ${job.status}`,
    Changes: job?.changes && changesText(job.changes),
    // Of what a runner reports, who created the job.
    By: (actor?.kind === "system" && job?.created_by) || actor?.name,
    Event: type,
    Time: `${time.slice(0, 19).replace("T", " ")} UTC`,
  };
  return Object.entries(facts).flatMap(([name, value]) =>
    value ? [{ name, value: shownWord(value) }] : [],
  );
}
