/** Access tokens, with which pipelines call the API. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  about,
  Name,
  NextCursor,
  Nullable,
  Paging,
  StoredName,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { accessTokenDaysDefault, accessTokenDaysLimit } from "./limits.ts";
import { zoneRolesLimit } from "./role-names.ts";
import { SpaceRole, ZoneRoles } from "./roles.ts";

export const CreateAccessToken = Type.Object(
  {
    name: about(Name, "Unique among the access tokens, such as the name of the pipeline."),
    role: Type.Optional(
      about(
        SpaceRole,
        "What the token may do; at most the role of its creator. Null: see `zones`.",
      ),
    ),
    zones: Type.Optional(ZoneRoles),
    configurations: Type.Optional(
      Type.Array(Uuid, {
        minItems: 1,
        maxItems: zoneRolesLimit,
        description: "The only configurations that it is for, by their ids. Missing: all.",
      }),
    ),
    expires_in_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: accessTokenDaysLimit,
        default: accessTokenDaysDefault,
        description: "How long it is valid.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type CreateAccessToken = Static<typeof CreateAccessToken>;

const fields = {
  id: Uuid,
  name: StoredName,
  prefix: about(Type.String(), "The beginning of the token, by which it can be recognised."),
  role: SpaceRole,
  zones: ZoneRoles,
  configurations: about(
    Nullable(Type.Array(Uuid)),
    "The only configurations that it is for; null: all.",
  ),
  created_by: about(Type.String(), "The e-mail address of the user who created it."),
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used_at: about(
    Nullable(Timestamp),
    "The minute of the last use, but never before `created_at`; null: never used.",
  ),
  last_used_from: about(Nullable(Type.String()), "The address that the last use came from."),
};

export const AccessToken = Type.Object(fields);
export type AccessToken = Static<typeof AccessToken>;

export const CreatedAccessToken = Type.Object({
  ...fields,
  access_token: about(Type.String(), "The token. It is returned once and stored as a hash."),
});
export type CreatedAccessToken = Static<typeof CreatedAccessToken>;

export const accessTokenEndpoints = {
  createAccessToken: endpoint("POST /api/cli/access-tokens", {
    summary: "Create an access token for a pipeline; it is returned once",
    description: `It is sent like the access token of a login, and acts with its role in the space in which it was created. It cannot manage access tokens or logins. Valid for ${accessTokenDaysDefault} days by default.`,
    permission: "account",
    body: CreateAccessToken,
    status: 201,
    answer: CreatedAccessToken,
    refusals: ["not_found", "name_taken", "quota_exceeded"],
  }),
  listAccessTokens: endpoint("GET /api/cli/access-tokens", {
    summary: "List access tokens, newest first; the tokens themselves are not shown",
    description: "An expired token is listed for 30 days, or until it is deleted.",
    permission: "account",
    query: Paging,
    answer: Type.Object({ access_tokens: Type.Array(AccessToken), next_cursor: NextCursor }),
  }),
  getCurrentAccessToken: endpoint("GET /api/cli/access-tokens/current", {
    summary: "Read the access token with which this request was sent",
    permission: "read",
    inZones: true,
    answer: AccessToken,
    refusals: ["not_found"],
  }),
  revokeAccessToken: endpoint("DELETE /api/cli/access-tokens/{id}", {
    summary: "Revoke an access token; it stops working at once, and its event streams end",
    permission: "account",
    params: { id: about(Uuid, "The access token.") },
  }),
};
