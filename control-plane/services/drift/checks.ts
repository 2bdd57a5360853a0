/** Queues drift checks: PLANs with `refresh_only` of what is deployed. */
import { v7 as uuid } from "uuid";
import type { CreateJob, Job } from "../../../protocol/jobs.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { findOpenCheck } from "../../store/configurations/drift.ts";
import type { UserCaller } from "../callers.ts";
import { findNamed } from "../configurations/configurations.ts";
import type { Context } from "../context.ts";
import { queueJobs } from "../jobs/create.ts";
import { creatorOf, type Creator } from "../jobs/creator.ts";
import { viewJob } from "../jobs/views.ts";

/** The request of a drift check. Jobs that are queued together with others are made of it. */
export const driftCheckOf = (configuration_id: string): CreateJob => ({
  job_type: "PLAN",
  configuration_id,
  refresh_only: true,
  deployed: true,
});

/** POST /api/cli/configurations/{name}/check-drift. */
export async function checkDrift(
  context: Context,
  user: UserCaller,
  name: string,
): Promise<{ readonly answer: Job; readonly stored: boolean }> {
  const { id: spec } = await findNamed(context.store.read, user.space_id, name);
  const { id, isNew } = await queueDriftCheck(context, creatorOf(user), spec);
  return { answer: await viewJob(context, id), stored: isNew };
}

/** Queues a check, or finds the one that waits or runs. Throws if it is refused. */
async function queueDriftCheck(
  context: Context,
  by: Creator,
  spec: string,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const known = await context.store.read.first(findOpenCheck, { spec });
  if (known) return { id: known.id, isNew: false };
  const id = uuid();
  let open: { id: string } | undefined;
  const refused = await queueJobs(
    context,
    by.space_id,
    [{ id, by, input: driftCheckOf(spec) }],
    async (tx) => {
      open = await tx.first(findOpenCheck, { spec });
      return new Set(open ? [spec] : []);
    },
  );
  if (refused) throw new RefusalError(refused.code, refused.message);
  return { id: open?.id ?? id, isNew: open === undefined };
}
