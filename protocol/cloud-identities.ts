/** Cloud identities: the role that a configuration's jobs take on in a person's cloud account. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, Name, NextCursor, OneOf, Paging, Timestamp, Uuid } from "./fields.ts";

const RoleArn = Type.String({
  maxLength: 600,
  pattern: "^arn:aws[a-z-]*:iam::\\d{12}:role/[\\w+=,.@/-]{1,512}$",
  "x-form": "the ARN of a role, such as arn:aws:iam::123456789012:role/windlass",
});
/** Who may take a role on: an account, a user, a role. */
const PrincipalArn = Type.String({
  maxLength: 600,
  pattern:
    "^arn:aws[a-z-]*:(iam|sts)::\\d{12}:(root|(user|role|assumed-role)/[\\w+=,.@/-]{1,512})$",
  "x-form": "the ARN of an account, a user or a role",
  examples: ["arn:aws:iam::210987654321:role/runners"],
});

export const CloudIdentity = Type.Object({
  id: Uuid,
  name: Name,
  provider: OneOf(["aws"]),
  role_arn: about(Type.String(), "The role that jobs take on."),
  external_id: about(
    Uuid,
    "Made by the server, never changed: the role's trust policy asks for it.",
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type CloudIdentity = Static<typeof CloudIdentity>;

export const CreateCloudIdentity = Type.Object(
  { name: Name, provider: OneOf(["aws"]), role_arn: RoleArn },
  { additionalProperties: false },
);
export type CreateCloudIdentity = Static<typeof CreateCloudIdentity>;

export const UpdateCloudIdentity = Type.Object(
  { name: Type.Optional(Name), role_arn: Type.Optional(RoleArn) },
  { additionalProperties: false },
);
export type UpdateCloudIdentity = Static<typeof UpdateCloudIdentity>;

/** An IAM trust policy, to be pasted as it is. */
export const TrustPolicy = Type.Object({
  Version: Type.String(),
  Statement: Type.Array(
    Type.Object({
      Effect: Type.String(),
      Principal: Type.Object({ AWS: Type.String() }),
      Action: Type.String(),
      Condition: Type.Optional(
        Type.Object({ StringEquals: Type.Object({ "sts:ExternalId": Type.String() }) }),
      ),
    }),
  ),
});
export type TrustPolicy = Static<typeof TrustPolicy>;

const params = Type.Object({ id: about(Uuid, "The cloud identity.") });
const path = "/api/cli/cloud-identities";

export const cloudIdentityEndpoints = {
  listCloudIdentities: endpoint({
    method: "GET",
    path,
    summary: "List cloud identities, newest first",
    caller: "client",
    query: Type.Object({ ...Paging }),
    status: 200,
    answer: Type.Object({ cloud_identities: Type.Array(CloudIdentity), next_cursor: NextCursor }),
  }),
  createCloudIdentity: endpoint({
    method: "POST",
    path,
    summary: "Create a cloud identity; the server makes its external id",
    caller: "client",
    body: CreateCloudIdentity,
    status: 201,
    answer: CloudIdentity,
    refusals: ["name_taken"],
  }),
  getCloudIdentity: endpoint({
    method: "GET",
    path: `${path}/{id}`,
    summary: "Read a cloud identity",
    caller: "client",
    params,
    status: 200,
    answer: CloudIdentity,
  }),
  updateCloudIdentity: endpoint({
    method: "PATCH",
    path: `${path}/{id}`,
    summary: "Change the name or role of a cloud identity; its external id stays",
    caller: "client",
    params,
    body: UpdateCloudIdentity,
    status: 200,
    answer: CloudIdentity,
    refusals: ["name_taken"],
  }),
  deleteCloudIdentity: endpoint({
    method: "DELETE",
    path: `${path}/{id}`,
    summary: "Delete a cloud identity that nothing uses",
    caller: "client",
    params,
    status: 204,
    refusals: ["cloud_identity_in_use"],
  }),
  getTrustPolicy: endpoint({
    method: "GET",
    path: `${path}/{id}/trust-policy`,
    summary: "The IAM trust policy to give the role, for a principal that runs the runners",
    caller: "client",
    params,
    query: Type.Object({
      principal: about(PrincipalArn, "The account, user or role under which the runners work."),
    }),
    status: 200,
    answer: TrustPolicy,
  }),
};
