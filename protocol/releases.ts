/** Endpoints for pipelines with RELEASE_API_SECRET: runner releases and cloud-hosted runners. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { JsonObject, Name, Timestamp } from "./fields.ts";
import { WorkerIdentity } from "./workers.ts";

/** Semantic versioning 2.0.0, without a leading "v". */
const part = "(0|[1-9]\\d{0,8})";
const pre = "(0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)";
export const SemanticVersion = Type.String({
  maxLength: 100,
  pattern: `^${part}\\.${part}\\.${part}(-${pre}(\\.${pre})*)?(\\+[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?$`,
  "x-form": "a semantic version, such as 1.4.0",
});

export const PublishRelease = Type.Object({
  version: SemanticVersion,
  release_notes: Type.Optional(Type.String({ maxLength: 65_536 })),
});
export type PublishRelease = Static<typeof PublishRelease>;

export const Release = Type.Object({
  version: SemanticVersion,
  release_notes: Type.String(),
  created_at: Timestamp,
});
export type Release = Static<typeof Release>;

export const RegisterCloudWorker = Type.Object({
  name: Name,
  metadata: Type.Optional(JsonObject),
});
export type RegisterCloudWorker = Static<typeof RegisterCloudWorker>;

export const releaseEndpoints = {
  publishRelease: endpoint("POST /api/releases/worker", {
    summary: "Publish a runner release; heartbeats then return the highest version",
    caller: "pipeline",
    body: PublishRelease,
    status: 201,
    answer: Release,
    refusals: ["version_exists"],
  }),
  registerCloudWorker: endpoint("POST /api/runners/register", {
    summary: "Register a cloud-hosted runner, which serves every user",
    caller: "pipeline",
    body: RegisterCloudWorker,
    status: 201,
    answer: WorkerIdentity,
  }),
};
