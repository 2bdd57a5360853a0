/** The pages of workers, and what a person does with them. */
import { validate } from "uuid";
import type { UserCaller } from "../../auth/callers.ts";
import { notFound } from "../../problem.ts";
import type { Context } from "../../services/context.ts";
import { listJobs } from "../../services/jobs.ts";
import { createRegistrationToken } from "../../services/registration-tokens.ts";
import { latestVersion } from "../../services/releases.ts";
import {
  deleteWorker,
  getWorker,
  listWorkers,
  rotateToken,
  setDraining,
} from "../../services/workers.ts";
import { Form } from "../page/form.ts";
import { sendPage } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";
import { registrationPage, rotatedPage } from "./worker-setup-page.ts";
import { workerPage, workersPage } from "./workers-page.ts";

const shown = 1000;
const jobsShown = 20;
const refresh = 3;

const frame = ({ email }: UserCaller) => ({ email, at: "/workers" });

/** Adds them. */
export function workerPages(signedIn: SignedIn, context: Context): void {
  signedIn("GET", "/workers", async (caller, _, reply) => {
    const workers = await listWorkers(context, caller, undefined, shown);
    const body = workersPage(workers, await latestVersion(context), nowOf(context));
    sendPage(reply, { ...frame(caller), title: "Workers", body, refresh });
  });
  signedIn("GET", "/workers/:id", async (caller, { params }, reply) => {
    const worker = await getWorker(context, caller, idOf(params));
    const [jobs, latest] = await Promise.all([
      listJobs(context, caller, { worker: worker.id, limit: jobsShown }),
      latestVersion(context),
    ]);
    const body = workerPage({ worker, jobs, latest, now: nowOf(context) });
    sendPage(reply, { ...frame(caller), title: worker.name, body, refresh });
  });
  signedIn("POST", "/workers/register", async (caller, _, reply) => {
    const token = await createRegistrationToken(context, caller, {});
    const body = registrationPage(token, context.publicUrl());
    sendPage(reply, { ...frame(caller), title: "Add a worker", body });
  });
  signedIn("POST", "/workers/:id/rotate", async (caller, { params, body: form }, reply) => {
    const overlap = new Form(form).isOn("at_once") ? 0 : undefined;
    const body = rotatedPage(await rotateToken(context, caller, idOf(params), overlap));
    sendPage(reply, { ...frame(caller), title: "A new token", body });
  });
  for (const isDraining of [true, false])
    signedIn(
      "POST",
      `/workers/:id/${isDraining ? "drain" : "undrain"}`,
      async (caller, { params }, reply) => {
        const { id } = await setDraining(context, caller, idOf(params), isDraining);
        reply.redirect(`/workers/${id}`, 303);
      },
    );
  signedIn("POST", "/workers/:id/remove", async (caller, { params }, reply) => {
    await deleteWorker(context, caller, idOf(params));
    reply.redirect("/workers", 303);
  });
}

function idOf(params: unknown): string {
  const { id } = params as { id: string };
  if (!validate(id)) throw notFound("worker");
  return id;
}

const nowOf = ({ now }: Context): string => new Date(now()).toISOString();
