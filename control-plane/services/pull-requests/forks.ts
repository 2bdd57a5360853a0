/** Pull requests from forks, each commit of which waits for a person. */
import { eventTextLimit } from "../../../protocol/notification-events.ts";
import {
  findPullRequest,
  type FollowerRow,
  type PullRequestRow,
} from "../../store/connections/polls.ts";
import { findEventOnce } from "../../store/notifications/deliveries.ts";
import { findApprovalRule } from "../../store/notifications/watched.ts";
import { recordEvent } from "../events/record.ts";
import { settingsOf, type Place } from "./place.ts";

/** Whether a person must let the head of a fork be planned. */
export const needsApproval = (
  row: Pick<PullRequestRow, "is_fork" | "skipped" | "approved_commit" | "head_commit">,
): boolean => row.is_fork === 1 && row.skipped === null && row.approved_commit !== row.head_commit;

/** Once for each commit. Of several configurations that wait for it, the event names none. */
export async function tellNeeded(
  { context, connection }: Place,
  { id, head_commit, repository, number, title, author }: PullRequestRow,
  followers: readonly FollowerRow[],
): Promise<void> {
  const { owner_id: owner } = connection;
  const { store, now } = context;
  const once = `fork ${id} ${head_commit}`;
  if (!(await store.read.first(findApprovalRule, { owner }))) return;
  if (await store.read.first(findEventOnce, { owner, once })) return;
  const [only, ...more] = followers.filter((one) => {
    const { pull_requests, forks } = settingsOf(one);
    return pull_requests === "plan" && forks === "approved";
  });
  const url = `${context.publicUrl()}/pull-requests/${id}`;
  const name = `${repository}#${number}`;
  const short = title.slice(0, eventTextLimit);
  await store.write(async (tx) => {
    const current = await tx.first(findPullRequest, { id });
    if (current?.state !== "open" || current.head_commit !== head_commit) return;
    if (current.approved_commit === head_commit) return;
    await recordEvent(tx, now(), {
      type: "approval.needed",
      owner,
      configuration: more.length === 0 ? only?.spec_id : null,
      about: id,
      by: { kind: "connection", name: author.slice(0, eventTextLimit) },
      data: {
        connection: { id: connection.id, name: connection.name },
        pull_request: { id, name, title: short, commit: head_commit, url },
      },
      once,
    });
  });
}
