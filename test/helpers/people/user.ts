/** A user who calls the API of a control plane as the client does. */
import { setTimeout as sleep } from "node:timers/promises";
import type { CreateJob, Job } from "../../../protocol/jobs.ts";
import { send } from "../../../protocol/transport.ts";
import { callsOf, type Calls } from "../plane/calls.ts";
import type { Plane } from "../plane/plane.ts";
import { bearer, signIn } from "./sign-in.ts";

export interface User {
  readonly plane: Plane;
  /** The settings of this user's client. */
  readonly environment: { readonly WINDLASS_URL: string; readonly WINDLASS_TOKEN: string };
  readonly call: Calls["call"];
  /** Creates a configuration in the user's zone. */
  configure(fields: Record<string, unknown>): Promise<string>;
  queue(job: CreateJob): Promise<Job>;
  read(job: Job): Promise<Job>;
  /** Waits until the job has one of these statuses. */
  reaches(job: Job, ...statuses: Job["status"][]): Promise<Job>;
  /** Waits until the job is released. */
  released(job: Job): Promise<Job>;
  log(job: Job, stream?: string): Promise<string>;
  upload(archive: Buffer): Promise<string>;
  /** Creates a token with which an agent registers itself. */
  registrationToken(): Promise<string>;
}

/** Signs in a new user and creates a zone. */
export async function newUser(plane: Plane): Promise<User> {
  const { access_token } = await signIn(plane);
  const headers = bearer(access_token);
  let count = 0;
  const user: User = {
    plane,
    environment: { WINDLASS_URL: plane.url, WINDLASS_TOKEN: access_token },
    call: callsOf(plane, headers).call,
    configure: async (fields) => {
      const body = { name: `configuration ${++count}`, zone_id: zone.id, ...fields };
      return (await user.call("createConfiguration", { body: body as never })).id;
    },
    queue: (body) => user.call("createJob", { body }),
    read: ({ id }) => user.call("getJob", { params: { id } }),
    reaches: (job, ...statuses) => waitFor(job, (now) => statuses.includes(now.status)),
    released: (job) => waitFor(job, (now) => now.released_at !== null),
    log: async ({ id }, stream = "STDOUT") => {
      const { logs } = await user.call("getJobLogs", { params: { id } });
      const wanted = logs.filter(({ stream_type }) => stream_type === stream);
      return wanted.map(({ log_chunk }) => log_chunk).join("");
    },
    upload: async (bytes) => {
      const answer = await send(plane.url, "uploadArchive", { bytes }, { headers });
      return ((await answer.body.json()) as { sha256: string }).sha256;
    },
    registrationToken: async () => {
      const made = await user.call("createRegistrationToken", { body: {} });
      return made.registration_token;
    },
  };
  async function waitFor(job: Job, is: (now: Job) => boolean): Promise<Job> {
    for (;;) {
      const now = await user.read(job);
      if (is(now)) return now;
      await sleep(30);
    }
  }
  const zone = await user.call("createZone", { body: { name: "zone" } });
  return user;
}
