/** Connections to code hosts, and the events that hosts send. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  about,
  Name,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  StoredName,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { mebibyte } from "../common/units.ts";
import { webhookOverlapLimit } from "./limits.ts";
import { RepositoryList } from "./repositories.ts";

export const ConnectionKind = OneOf(["github_app", "github", "gitlab", "bitbucket", "forgejo"]);
export type ConnectionKind = Static<typeof ConnectionKind>;

/** Seconds between two looks at the followed repositories. */
export const pollSeconds = { minimum: 60, maximum: 86_400, default: 300 } as const;

/** The largest event that is read. Of a larger one, the next look finds what it says. */
export const eventBytesLimit = 5 * mebibyte;

const Credential = Type.String({
  minLength: 1,
  maxLength: 4096,
  pattern: "^[\\u0021-\\u007e]+$",
  "x-form": "a token of printable characters without spaces",
  examples: ["d3b07384d113edec49eaa6238ad5ff00"],
});
const Address = Type.String({
  maxLength: 2048,
  pattern: "^https?://[^\\s/?#@]+(/[^\\s?#]*)?$",
  "x-form": "an address such as https://git.example.com, without user name, query and fragment",
  examples: ["https://git.example.com"],
});
const StatusName = Type.String({
  minLength: 1,
  maxLength: 40,
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$",
  "x-form": "letters, digits and . _ -, beginning with a letter or a digit",
  examples: ["windlass"],
});
const RepositoryName = Type.String({
  minLength: 3,
  maxLength: 512,
  pattern: "^[^\\s/]+(/[^\\s/]+)+$",
  "x-form": "the full name of a repository, such as owner/name",
  examples: ["platform/network"],
});

const written = {
  api_url: Type.Optional(
    about(Nullable(Address), "Where the API is, if not at the usual place below `base_url`."),
  ),
  credential: Type.Optional(about(Credential, "A token of the host. Not for `github_app`.")),
  clone_credential: Type.Optional(
    about(Nullable(Credential), "A token for the runners' clones. Default: `credential`."),
  ),
  status_name: Type.Optional(
    about(
      StatusName,
      "Begins the contexts of statuses. Default: windlass. Two connections of one server to the same repository need different ones.",
    ),
  ),
  poll_seconds: Type.Optional(
    Type.Integer({
      ...pollSeconds,
      description: "How often followed branches and pull requests are compared with the host.",
    }),
  ),
};

const app = {
  id: Type.String({
    minLength: 1,
    maxLength: 40,
    pattern: "^\\d+$",
    "x-form": "the id of an App",
    examples: ["123456"],
  }),
  private_key: Type.String({
    minLength: 1,
    maxLength: 16_384,
    description: "In PEM.",
    examples: ["-----BEGIN RSA PRIVATE KEY-----\n…\n-----END RSA PRIVATE KEY-----\n"],
  }),
  installation_id: Type.Optional(
    Type.String({
      maxLength: 40,
      pattern: "^\\d+$",
      "x-form": "the id of an installation",
      examples: ["7654321"],
    }),
  ),
  webhook_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: "The one that GitHub made.",
      examples: ["5f0c7d1e2b3a4c4d"],
    }),
  ),
};

export const Connection = Type.Object({
  id: Uuid,
  name: StoredName,
  kind: ConnectionKind,
  base_url: Type.String(),
  account: about(
    Nullable(Type.String()),
    "Whose credential it is, as the host said at the last check.",
  ),
  status_name: Type.String(),
  poll_seconds: Type.Integer(),
  events_url: about(Type.String(), "Where the host sends its webhooks."),
  last_event_at: Nullable(Timestamp),
  last_poll_at: Nullable(Timestamp),
  error: about(
    Nullable(Type.Object({ message: Type.String(), since: Timestamp })),
    "What went wrong last, until something succeeds.",
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Connection = Static<typeof Connection>;

export const WebhookSecret = about(
  Type.String(),
  "The secret of the webhooks. It is shown this once.",
);

export const CreateConnection = Type.Object(
  {
    name: Name,
    kind: ConnectionKind,
    base_url: Type.Optional(
      about(Address, "The address of a self-managed host. Required for `forgejo`."),
    ),
    app: Type.Optional(Type.Object(app, { additionalProperties: false })),
    ...written,
  },
  { additionalProperties: false },
);
export type CreateConnection = Static<typeof CreateConnection>;

export const UpdateConnection = Type.Object(
  {
    name: Type.Optional(Name),
    app: Type.Optional(Type.Partial(Type.Object(app), { additionalProperties: false })),
    ...written,
  },
  { additionalProperties: false },
);
export type UpdateConnection = Static<typeof UpdateConnection>;

export const ConnectionCheck = Type.Object({
  account: Type.String(),
  permissions: Type.Array(
    Type.Object({
      name: Type.String(),
      present: Type.Boolean(),
      prevents: about(Type.String(), "What does not work without it."),
    }),
  ),
  warnings: Type.Array(Type.String()),
});
export type ConnectionCheck = Static<typeof ConnectionCheck>;

const params = { id: about(Uuid, "The connection.") };
const hostRefusals = ["host_unavailable"] as const;

export const connectionEndpoints = {
  listConnections: endpoint("GET /api/cli/connections", {
    summary: "List connections, newest first",
    permission: "read",
    query: Paging,
    answer: Type.Object({ connections: Type.Array(Connection), next_cursor: NextCursor }),
  }),
  createConnection: endpoint("POST /api/cli/connections", {
    summary: "Connect a code host",
    description:
      "Credentials are encrypted at rest and never shown. An address that is not public needs `WINDLASS_OUTBOUND_ALLOW`.",
    permission: "administer",
    body: CreateConnection,
    status: 201,
    answer: Type.Object({ ...Connection.properties, webhook_secret: WebhookSecret }),
    refusals: ["name_taken", "destination_not_allowed", "quota_exceeded"],
  }),
  getConnection: endpoint("GET /api/cli/connections/{id}", {
    summary: "Read a connection",
    permission: "read",
    params,
    answer: Connection,
  }),
  updateConnection: endpoint("PATCH /api/cli/connections/{id}", {
    summary: "Change a connection; its kind and its host stay",
    permission: "administer",
    params,
    body: UpdateConnection,
    answer: Connection,
    refusals: ["name_taken", "status_name_taken", "destination_not_allowed"],
  }),
  deleteConnection: endpoint("DELETE /api/cli/connections/{id}", {
    summary: "Delete a connection through which no configuration follows a branch",
    permission: "administer",
    params,
    refusals: ["connection_in_use"],
  }),
  checkConnection: endpoint("POST /api/cli/connections/{id}/check", {
    summary: "Ask the host what the credential may do, and what each missing permission prevents",
    permission: "administer",
    params,
    answer: ConnectionCheck,
    refusals: hostRefusals,
  }),
  rotateConnectionSecret: endpoint("POST /api/cli/connections/{id}/rotate-secret", {
    summary: "Make a new webhook secret; the old one holds for the overlap",
    permission: "administer",
    params,
    body: Type.Object(
      { overlap_seconds: Type.Integer({ minimum: 0, maximum: webhookOverlapLimit }) },
      { additionalProperties: false },
    ),
    answer: Type.Object({ webhook_secret: WebhookSecret }),
  }),
  addConnectionWebhook: endpoint("POST /api/cli/connections/{id}/webhooks", {
    summary: "Register the webhook of a repository at the host",
    permission: "administer",
    params,
    body: Type.Object({ repository: RepositoryName }, { additionalProperties: false }),
    refusals: ["webhook_not_allowed", ...hostRefusals],
  }),
  listConnectionRepositories: endpoint("GET /api/cli/connections/{id}/repositories", {
    summary: "List the repositories that a connection reaches",
    permission: "configure",
    params,
    query: Paging,
    answer: RepositoryList,
    refusals: hostRefusals,
  }),
};

export const eventEndpoints = {
  receiveEvent: endpoint("POST /api/events/{id}", {
    summary: "Receive a webhook of a code host",
    description:
      "Signed as the host signs: `X-Hub-Signature-256` (GitHub), `X-Gitlab-Token` or Standard Webhooks (GitLab), `X-Hub-Signature` (Bitbucket), `X-Forgejo-Signature` or `X-Gitea-Signature`. An event only says where to look: what has changed is asked of the host.",
    caller: "anyone",
    params,
    bytes: "request",
    media: "application/json",
    bodyLimit: eventBytesLimit,
    status: 202,
    refusals: ["invalid_signature", "not_found", "too_many_requests"],
  }),
};
