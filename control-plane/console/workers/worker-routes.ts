/** The pages of workers, and what a person does with them. */
import { validate } from "uuid";
import { UpdateWorker, type Worker } from "../../../protocol/workers.ts";
import type { UserCaller } from "../../services/callers.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { invalid, notFound } from "../../domain/refusal.ts";
import { mayDo } from "../../domain/roles.ts";
import {
  findConfigurationName,
  listConfigurationNames,
} from "../../services/configurations/configurations.ts";
import { findRule } from "../../services/approvals/may-decide.ts";
import type { Context } from "../../services/context.ts";
import { createJob, listJobSummaries } from "../../services/jobs/jobs.ts";
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
import { attempt, Form, refuseStale } from "../page/form.ts";
import { html } from "../page/html.ts";
import { inTeam, teamOf } from "../page/in-space.ts";
import { sendPage, type Page } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";
import { registrationTokensView } from "./registration-tokens-view.ts";
import { workerForm } from "./worker-form.ts";
import { changeOf, deployConfigurationOf, formOf } from "./worker-input.ts";
import { registrationPage, rotatedPage } from "./worker-setup-page.ts";
import { workerPage, workersPage } from "./workers-page.ts";

const shown = 1000;
const jobsShown = 20;
const refresh = 3;
const validateWorker = validatorOf(UpdateWorker);

const frame = ({ email }: UserCaller) => ({ email, at: "/workers" });

export function workerPages(pages: SignedIn, context: Context): void {
  const list = async (caller: UserCaller, form: Form): Promise<Page> => {
    const [workers, held, tokens, latest] = await Promise.all([
      listWorkers(context, caller, undefined, shown),
      countHeldJobs(context, caller),
      mayDo(caller, "administer") ? listRegistrationTokens(context, caller, undefined, shown) : [],
      latestVersion(context),
    ]);
    const now = nowOf(context);
    const open = registrationTokensView(
      tokens.map((token) => token.shown),
      form,
      now,
    );
    const body = html`${workersPage(workers, held, latest, now)}
      <div id="open-tokens" data-live>${open}</div>`;
    const from = inTeam("/workers", teamOf(caller));
    return { ...frame(caller), title: "Workers", body, refresh, from };
  };
  pages.get("/workers", "listWorkers", async (caller, _, reply) => {
    sendPage(reply, await list(caller, new Form()));
  });
  pages.post(
    "/workers/revoke-token",
    "revokeRegistrationToken",
    async (caller, { body }, reply) => {
      const refused = await attempt(body, async () => {
        await revokeRegistrationToken(context, caller, new Form(body).text("id"));
        reply.redirect("/workers", 303);
      });
      if (refused) sendPage(reply, await list(caller, refused), refused.status);
    },
  );
  const page = async (caller: UserCaller, worker: Worker, teardown?: Form): Promise<Page> => {
    const { id, name: title } = worker;
    const by = deployConfigurationOf(worker)?.configuration_id;
    const [jobs, latest, deployedBy, rule] = await Promise.all([
      listJobSummaries(context, caller, { worker: id, limit: jobsShown }),
      latestVersion(context),
      by === undefined ? undefined : findConfigurationName(context, caller, by),
      findRule(context, caller, by ?? null),
    ]);
    const model = {
      worker,
      jobs,
      latest,
      deployedBy,
      rule,
      url: context.publicUrl(),
      now: nowOf(context),
    };
    const body = workerPage(model, teardown);
    return { ...frame(caller), title, body, refresh, from: `/workers/${id}` };
  };
  pages.get("/workers/:id", "getWorker", async (caller, { params }, reply) => {
    sendPage(reply, await page(caller, await getWorker(context, caller, idOf(params))));
  });
  pages.post("/workers/:id/teardown", "administer", async (caller, { params, body }, reply) => {
    const worker = await getWorker(context, caller, idOf(params));
    const refused = await attempt(body, async () => {
      const form = new Form(body);
      refuseStale(form, deployConfigurationOf(worker));
      if (form.word("confirm") !== worker.name.trim())
        throw invalid("body.confirm", "this is not its name");
      const asked = {
        job_type: "DESTROY_WORKER",
        assigned_worker_id: worker.id,
        debug: form.isOn("debug"),
      } as const;
      const { id } = await createJob(context, caller, asked);
      reply.redirect(`/jobs/${id}`, 303);
    });
    if (refused) sendPage(reply, await page(caller, worker, refused), refused.status);
  });
  editPages(pages, context);
  pages.post("/workers/register", "createRegistrationToken", async (caller, _, reply) => {
    const token = await createRegistrationToken(context, caller, {});
    const body = registrationPage(token, context.publicUrl());
    sendPage(reply, { ...frame(caller), title: "Add a worker", body });
  });
  pages.post(
    "/workers/:id/rotate",
    "rotateWorkerToken",
    async (caller, { params, body: form }, reply) => {
      const overlap = new Form(form).isOn("at_once") ? 0 : undefined;
      const body = rotatedPage(await rotateToken(context, caller, idOf(params), overlap));
      sendPage(reply, { ...frame(caller), title: "A new token", body });
    },
  );
  for (const isDraining of [true, false])
    pages.post(
      `/workers/:id/${isDraining ? "drain" : "undrain"}`,
      isDraining ? "drainWorker" : "undrainWorker",
      async (caller, { params }, reply) => {
        const { id } = await setDraining(context, caller, idOf(params), isDraining);
        reply.redirect(`/workers/${id}`, 303);
      },
    );
  pages.post("/workers/:id/remove", "deleteWorker", async (caller, { params }, reply) => {
    await deleteWorker(context, caller, idOf(params));
    reply.redirect("/workers", 303);
  });
}

function editPages(pages: SignedIn, context: Context): void {
  const page = async (caller: UserCaller, worker: Worker, form: Form): Promise<Page> => {
    const configurations = await listConfigurationNames(context, caller, shown);
    const body = workerForm(worker, form, configurations);
    return { ...frame(caller), title: `Edit ${worker.name}`, body };
  };
  const find = async (caller: UserCaller, params: unknown): Promise<Worker> => {
    const worker = await getWorker(context, caller, idOf(params));
    if (worker.mode === "cloud-hosted") throw notFound("worker of yours");
    return worker;
  };
  pages.get("/workers/:id/edit", "updateWorker", async (caller, { params }, reply) => {
    const worker = await find(caller, params);
    sendPage(reply, await page(caller, worker, formOf(worker)));
  });
  pages.post("/workers/:id/edit", "updateWorker", async (caller, { params, body }, reply) => {
    const worker = await find(caller, params);
    const form = await attempt(body, async () => {
      await updateWorker(context, caller, worker.id, (now) =>
        validateWorker(changeOf(new Form(body), now)),
      );
      reply.redirect(`/workers/${worker.id}`, 303);
    });
    if (form) sendPage(reply, await page(caller, worker, form), form.status);
  });
}

function idOf(params: unknown): string {
  const { id } = params as { id: string };
  if (!validate(id)) throw notFound("worker");
  return id;
}

const nowOf = ({ now }: Context): string => new Date(now()).toISOString();
