import type { UpdateWorker, Worker } from "../../../protocol/workers.ts";
import { nameOf, type UserCaller } from "../callers.ts";
import type { WorkerRow } from "../../domain/worker.ts";
import { notFound } from "../../domain/refusal.ts";
import { findOwnWorker, updateWorker as saveWorker } from "../../store/workers/workers.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { withDeployConfiguration } from "./deploy-configurations.ts";
import { viewWithJobs, viewWorker } from "./views.ts";

/**
 * PATCH /api/cli/workers/{id}. A change that depends on the worker is passed as a function of it,
 * so that no other change comes in between.
 */
export async function updateWorker(
  context: Context,
  user: UserCaller,
  id: string,
  asked: UpdateWorker | ((now: Worker) => UpdateWorker),
): Promise<Worker> {
  const { space_id: owner } = user;
  const worker = await context.store.write(async (tx) => {
    const before = await tx.first(findOwnWorker, { id, owner });
    if (!before) throw notFound("worker");
    const input = typeof asked === "function" ? asked(viewWorker(before, owner)) : asked;
    const { name, labels, deploy_configuration } = input;
    const change: Partial<WorkerRow> = {
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels: JSON.stringify(labels) }),
      ...(deploy_configuration === undefined
        ? {}
        : {
            metadata: await withDeployConfiguration(context, tx, before, deploy_configuration),
          }),
    };
    const fields = Object.keys(input);
    if (fields.length === 0) return before;
    await saveWorker(tx, id, change);
    const after = { ...before, ...change };
    const details = { fields, ...(deploy_configuration ? scopeOf(deploy_configuration) : {}) };
    const entry = { action: "worker.update", id, name: after.name, details } as const;
    await recordOwn(tx, user, entry, context.now());
    return after;
  });
  context.wakeups.notify("worker", id);
  context.wakeups.notify("worker_event", {
    what: "changed",
    id,
    name: worker.name,
    by: nameOf(user),
  });
  return viewWithJobs(context.store.read, worker, owner);
}

/** What a DESTROY_WORKER job would destroy, for the audit log. */
const scopeOf = ({
  configuration_id,
  targets,
}: NonNullable<UpdateWorker["deploy_configuration"]>) => ({
  ...(configuration_id === undefined ? {} : { configuration_id }),
  destroys: targets ?? "everything",
});
