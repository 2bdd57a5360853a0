/** How each kind of caller shows who it is. `Caller` also picks the guard of the route (http/route.ts), so that both agree. */
import type { Caller, Endpoint } from "../../protocol/endpoint.ts";

export const securitySchemes = {
  accessToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "The access token of a device login (`POST /api/auth/cli/exchange`), for an hour; `POST /api/auth/cli/refresh` makes a new one.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "windlass_session",
    description:
      "A signed-in browser; under https the cookie is `__Host-windlass_session`. Requests that change something must come from this site: `Origin` or `Sec-Fetch-Site` says so.",
  },
  workerId: {
    type: "apiKey",
    in: "header",
    name: "X-Worker-ID",
    description: "The id of a registered worker, with its token.",
  },
  workerToken: {
    type: "apiKey",
    in: "header",
    name: "X-Worker-Token",
    description: "The token that the registration answered once. Only its hash is stored.",
  },
  registrationToken: {
    type: "apiKey",
    in: "header",
    name: "X-Registration-Token",
    description: "Made by `POST /api/cli/registration-tokens`, for a few registrations and hours.",
  },
  jobCredentials: {
    type: "http",
    scheme: "basic",
    description:
      "The id of a job as user and its `job_token` as password: opens the state of that job's configuration as long as the job holds it.",
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

/** What an endpoint asks for: one of these; empty when it asks for nothing. */
export const securityOf = ({ caller }: Pick<Endpoint, "caller">): readonly Requirement[] =>
  requirements[caller];
