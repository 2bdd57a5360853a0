import type { Worker } from "../../../protocol/workers.ts";
import type { UserCaller } from "../../services/callers.ts";
import { invalid, notFound } from "../../domain/refusal.ts";
import { mayDo } from "../../domain/roles.ts";
import {
  findConfigurationName,
  listConfigurationNames,
} from "../../services/configurations/configurations.ts";
import { findRule } from "../../services/approvals/views.ts";
import type { Context } from "../../services/context.ts";
import { createJob, listJobSummaries } from "../../services/jobs/jobs.ts";
import { listRunsOfWorkers } from "../../services/jobs/runs.ts";
import {
  createRegistrationToken,
  listRegistrationTokens,
  revokeRegistrationToken,
} from "../../services/workers/registration-tokens.ts";
import { latestVersion } from "../../services/releases/releases.ts";
import {
  countHeldJobs,
  deleteWorker,
  getWorker,
  listWorkers,
  rotateToken,
  setDraining,
} from "../../services/workers/workers.ts";
import { updateWorker } from "../../services/workers/updates.ts";
import { Form } from "../page/form.ts";
import { html } from "../page/html.ts";
import { idIn } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { registrationTokensView } from "./registration-tokens-view.ts";
import { workerForm } from "./worker-form.ts";
import { changeOf, deployConfigurationOf, fieldsOf } from "./worker-input.ts";
import { registrationPage, rotatedPage } from "./worker-setup-page.ts";
import { workerPage, workersPage } from "./workers-page.ts";
import { time } from "../../domain/moments.ts";

const shown = 1000;
const jobsShown = 20;
/** Workers with a strip of their last runs. */
const stripsShown = 50;
const refresh = 3;

const frame = { at: "/workers" };

const idOf = (params: unknown): string => idIn(params, "worker");

export function workerPages(pages: SignedIn, context: Context): void {
  const find = (caller: UserCaller, params: unknown): Promise<Worker> =>
    getWorker(context, caller, idOf(params));
  const now = (): string => time(context.now());

  pages
    .page("/workers", "listWorkers", {
      draw: async (_, { caller, forms }) => {
        const [workers, held, tokens, latest] = await Promise.all([
          listWorkers(context, caller, undefined, shown),
          countHeldJobs(context, caller),
          mayDo(caller, "administer")
            ? listRegistrationTokens(context, caller, undefined, shown)
            : [],
          latestVersion(context),
        ]);
        const open = tokens.map((token) => token.shown);
        const ids = workers.slice(0, stripsShown).map(({ id }) => id);
        const runs = await listRunsOfWorkers(context, caller, ids);
        const body = html`${workersPage(workers, held, latest, now(), runs)}
          <div id="open-tokens" data-live>
            ${registrationTokensView(open, forms("revoke"), now())}
          </div>`;
        return { ...frame, refresh, title: "Workers", body };
      },
    })
    .form("revoke", "revokeRegistrationToken", {
      path: "/revoke-token",
      submit: async ({ caller, form }) => {
        await revokeRegistrationToken(context, caller, form.text("id"));
        return "/workers";
      },
    });

  pages
    .page("/workers/:id", "getWorker", {
      find,
      draw: async (worker, { caller, forms }) => {
        const by = deployConfigurationOf(worker)?.configuration_id;
        const [jobs, runs, latest, deployedBy, rule] = await Promise.all([
          listJobSummaries(context, caller, { worker: worker.id, limit: jobsShown }),
          listRunsOfWorkers(context, caller, [worker.id]),
          latestVersion(context),
          by === undefined ? undefined : findConfigurationName(context, caller, by),
          findRule(context, caller, by ?? null),
        ]);
        const url = context.publicUrl();
        const model = {
          worker,
          jobs,
          runs: runs.get(worker.id) ?? [],
          latest,
          deployedBy: deployedBy?.name,
          rule,
          url,
          now: now(),
        };
        const body = workerPage(model, forms("teardown"));
        return { ...frame, refresh, title: worker.name, body };
      },
    })
    .form("teardown", "createJob", {
      path: "/teardown",
      needs: "administer",
      seen: deployConfigurationOf,
      input: (form, { id }) => ({
        job_type: "DESTROY_WORKER",
        assigned_worker_id: id,
        debug: form.isOn("debug"),
      }),
      submit: async ({ caller, thing: { name }, form, input }) => {
        const job = input();
        if (form.word("confirm") !== name.trim())
          throw invalid("body.confirm", "this is not its name");
        return `/jobs/${(await createJob(context, caller, job)).id}`;
      },
    });

  pages
    .page("/workers/:id/edit", "updateWorker", {
      find: async (caller: UserCaller, params) => {
        const worker = await find(caller, params);
        if (worker.mode === "cloud-hosted") throw notFound("worker of yours");
        return worker;
      },
      draw: async (worker, { caller, forms }) => {
        const configurations = await listConfigurationNames(context, caller, shown);
        const body = workerForm(worker, forms("edit", fieldsOf(worker)), configurations);
        return { ...frame, title: `Edit ${worker.name}`, body };
      },
    })
    .form("edit", "updateWorker", {
      seen: fieldsOf,
      input: changeOf,
      submit: async ({ caller, thing: { id }, input }) => {
        await updateWorker(context, caller, id, input);
        return `/workers/${id}`;
      },
    });

  pages.post("/workers/register", "createRegistrationToken", async (caller) => {
    const token = await createRegistrationToken(context, caller, {});
    const body = registrationPage(token, context.publicUrl());
    return { ...frame, title: "Add a worker", body };
  });
  pages.post("/workers/:id/rotate", "rotateWorkerToken", async (caller, { params, body }) => {
    const overlap = new Form(body).isOn("at_once") ? 0 : undefined;
    const token = await rotateToken(context, caller, idOf(params), overlap);
    return { ...frame, title: "A new token", body: rotatedPage(token) };
  });
  for (const isDraining of [true, false])
    pages.post(
      `/workers/:id/${isDraining ? "drain" : "undrain"}`,
      isDraining ? "drainWorker" : "undrainWorker",
      async (caller, { params }) =>
        `/workers/${(await setDraining(context, caller, idOf(params), isDraining)).id}`,
    );
  pages.post("/workers/:id/remove", "deleteWorker", async (caller, { params }) => {
    await deleteWorker(context, caller, idOf(params));
    return "/workers";
  });
}
