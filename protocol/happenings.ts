/** What events tell of, in words, without the schemas: the client's help reads them too. */

/** Each event but those of the audit log, and what has happened then. */
export const happenings = {
  "job.queued": "a job is queued",
  "job.started": "a runner starts a job",
  "job.succeeded": "a job succeeds",
  "job.failed": "a job fails",
  "job.cancelled": "a job is cancelled",
  "job.outcome_unknown": "a runner is lost during an apply",
  "approval.needed": "an approval is needed",
  "approval.given": "a member approves a deployment",
  "approval.refused": "a member rejects a deployment",
  "plan.destructive": "a plan deletes or replaces something",
  deployed: "a deployment succeeds",
  destroyed: "a configuration is destroyed",
  "drift.found": "the infrastructure differs from what was deployed",
  "drift.gone": "the infrastructure is again what was deployed",
  "worker.offline": "a runner is offline",
  "worker.online": "a runner is online again",
  "queue.stalled": "a job has waited too long in the queue",
  "state.locked_without_job": "a state is locked and no job holds the lock",
  "schedule.skipped": "a schedule skips a run",
  "schedule.expires": "a configuration will be destroyed in a day",
  "connection.broken": "a connection to a code host fails",
  "connection.mended": "a connection to a code host works again",
  "token.expires": "an access token will expire soon",
  ping: "a rule is tested",
} as const;
export type Happening = keyof typeof happenings;

/** Says when an event occurs, such as `an approval is needed`; of a pattern, of which events it is. */
export function happeningWords(selection: string): string {
  if (selection.endsWith(".*")) return `any event whose name begins with ${selection.slice(0, -1)}`;
  return selection.startsWith("audit.")
    ? `the audit log records ${selection.slice("audit.".length)}`
    : (happenings[selection as Happening] ?? selection);
}
