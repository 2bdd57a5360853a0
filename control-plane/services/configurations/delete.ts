import { openJobText } from "../../domain/open-job.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { abandonSpec, findOpenOfSpec } from "../../store/configurations/removals.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { findLock } from "../../store/states/states.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { isUnsaved } from "../states/unsaved.ts";
import { forget } from "../storage/orphaned-blobs.ts";
import { removeSomeOfSpec } from "../storage/removals.ts";
import { findNamed } from "./configurations.ts";
import { refuseResources } from "./resources.ts";

/**
 * DELETE /api/cli/configurations/{name}. Refused while a job runs, is queued or waits for approvals,
 * the state is locked, or the state records resources, unless `keepResourcesOf` is the serial of
 * that state. The configuration disappears at once; a long history is removed in the background.
 */
export async function deleteConfiguration(
  context: Context,
  user: UserCaller,
  name: string,
  keepResourcesOf?: number,
): Promise<void> {
  const { space_id: owner } = user;
  const unnamed = await context.store.write(async (tx) => {
    const spec = await findNamed(tx, owner, name);
    await refuseOpen(tx, spec);
    const lock = await tx.first(findLock, { spec: spec.id });
    if (lock)
      throw new RefusalError(
        "state_locked",
        isUnsaved(lock)
          ? "a job that could not save its state has locked it: store that state first, or unlock it"
          : "a job whose outcome is unknown has left the state locked: unlock the state first",
      );
    const kept = await refuseResources(tx, spec, { saved: keepResourcesOf });
    const details = kept === 0 ? {} : { kept_resources: kept };
    const named = { id: spec.id, name: spec.name, details };
    await recordOwn(tx, user, { action: "configuration.delete", ...named }, context.now());
    await abandonSpec(tx, spec.id);
    return removeSomeOfSpec(tx, spec.id, context.now());
  });
  await forget(context, unnamed);
}

/** Throws 409 while a job of a configuration has not ended, or its runner may still work on it. */
export async function refuseOpen(
  tx: Queries,
  { id, owner_id: owner, name: configuration }: SpecRow,
): Promise<void> {
  const open = await tx.first(findOpenOfSpec, { owner, spec: id });
  const job = open && (await tx.first(findJob, { id: open.id }));
  if (job) throw new RefusalError("configuration_busy", openJobText({ ...job, configuration }));
}
