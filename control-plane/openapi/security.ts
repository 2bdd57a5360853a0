/** `Caller` also selects the guard of the route (http/route.ts), so both agree. */
import type { Caller, Endpoint } from "../../protocol/endpoint.ts";

export const securitySchemes = {
  accessToken: {
    type: "http",
    scheme: "bearer",
    description:
      "The access token of a device login (`POST /api/auth/cli/exchange`), valid for an hour; `POST /api/auth/cli/refresh` returns a new one. Or an access token for a pipeline (`POST /api/cli/access-tokens`), whose role limits what it may do.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "windlass_session",
    description:
      "The session of a signed-in browser. With https the cookie is `__Host-windlass_session`. Requests that change something must come from this site, as shown by `Origin` or `Sec-Fetch-Site`.",
  },
  workerId: {
    type: "apiKey",
    in: "header",
    name: "X-Worker-ID",
    description: "The id of a registered worker, sent with its token.",
  },
  workerToken: {
    type: "apiKey",
    in: "header",
    name: "X-Worker-Token",
    description: "The token that the registration returned once. Only its hash is stored.",
  },
  registrationToken: {
    type: "apiKey",
    in: "header",
    name: "X-Registration-Token",
    description:
      "A token from `POST /api/cli/registration-tokens`, valid for a number of registrations and a limited time.",
  },
  jobCredentials: {
    type: "http",
    scheme: "basic",
    description:
      "The id of a job as user and its `job_token` as password. Gives access to the state of the job's configuration while the job holds it.",
  },
  releaseSecret: {
    type: "http",
    scheme: "bearer",
    description: "The server's setting `RELEASE_API_SECRET`.",
  },
} as const;

type Requirement = { readonly [S in keyof typeof securitySchemes]?: readonly [] };

const person: readonly Requirement[] = [{ accessToken: [] }, { session: [] }];
const worker: Requirement = { workerId: [], workerToken: [] };

const requirements: Readonly<Record<Caller, readonly Requirement[]>> = {
  anyone: [],
  session: [{ session: [] }],
  client: person,
  worker: [worker],
  registrant: [{ registrationToken: [] }, worker, ...person],
  job: [{ jobCredentials: [] }],
  pipeline: [{ releaseSecret: [] }],
};

/** Returns the alternative credentials of an endpoint; empty if it needs none. */
export const securityOf = ({ caller }: Pick<Endpoint, "caller">): readonly Requirement[] =>
  requirements[caller];
