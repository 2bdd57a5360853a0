/**
 * Errors on the wire: RFC 9457 problem details. Programs test `code`, whose meaning never changes.
 */
import { Type, type Static } from "typebox";

/** Every code with its status and title. */
export const problemCodes = {
  bad_request: [400, "The request is malformed"],
  malformed_json: [400, "The body is not valid JSON"],
  invalid_request: [400, "The request has invalid fields"],
  digest_mismatch: [400, "The content does not match its digest"],
  forbidden_environment_name: [400, "This environment variable may not be set"],
  invalid_cursor: [400, "The cursor does not belong to this list"],
  invalid_plan: [400, "This job is not a plan that can be deployed"],
  authorization_pending: [400, "The sign-in is not approved yet"],
  invalid_verification_code: [400, "The verification code is wrong"],
  expired_token: [400, "The device code has been used or has expired"],
  unauthenticated: [401, "A valid credential is needed"],
  invalid_worker_token: [401, "The worker id or token is wrong"],
  invalid_refresh_token: [401, "The refresh token is not valid"],
  permission_denied: [403, "The role does not permit this"],
  approver_is_author: [403, "Someone else must approve this"],
  foreign_origin: [403, "This request came from another site"],
  not_found: [404, "There is no such resource"],
  team_not_found: [404, "There is no such team, or the caller is not a member"],
  request_timeout: [408, "The request took too long to arrive"],
  changed_meanwhile: [409, "It was changed in the meantime"],
  name_taken: [409, "This name is taken"],
  quota_exceeded: [409, "A quota is used up"],
  device_code_used: [409, "This device code has already been used"],
  device_code_taken: [409, "This device code belongs to another user"],
  identity_in_use: [409, "Another agent runs with this identity"],
  idempotency_key_reused: [409, "This Idempotency-Key belongs to another request"],
  job_ended: [409, "The job has ended"],
  job_started: [409, "The job has started"],
  log_gap: [409, "Log chunks are missing before this one"],
  not_job_holder: [409, "Another runner or attempt holds this job"],
  plan_already_used: [409, "The plan was already deployed"],
  plan_required: [409, "Only a plan can be deployed"],
  approval_not_needed: [409, "The job needs no approval"],
  plan_is_stale: [409, "The plan is out of date"],
  artifact_exists: [409, "The plan artifact is already stored"],
  state_conflict: [409, "The state cannot be replaced by this one"],
  version_exists: [409, "This version is already published"],
  job_not_retryable: [409, "Only a failed or cancelled job can be retried"],
  cloud_identity_in_use: [409, "Configurations still use this cloud identity"],
  configuration_busy: [409, "A job of the configuration has not ended"],
  configuration_not_empty: [409, "The managed state still records resources"],
  variable_set_in_use: [409, "The variable set is still attached"],
  zone_busy: [409, "A job of the zone has not ended"],
  zone_in_use: [409, "The zone uses something that stays in its space"],
  team_not_empty: [409, "The team still has zones, workers or unfinished jobs"],
  last_admin: [409, "The team would have no admin"],
  invitation_used: [409, "The invitation has already been used"],
  zone_not_empty: [409, "The zone still has configurations"],
  no_deploy_configuration: [409, "The worker has no deploy configuration"],
  provider_not_connected: [409, "No account at this provider is connected"],
  provider_token_rejected: [409, "The provider refused the stored token"],
  unreadable: [409, "What is stored cannot be decrypted"],
  payload_too_large: [413, "The body is too large"],
  too_large: [413, "One part of the request is too large"],
  unsupported_media_type: [415, "This content type is not accepted here"],
  range_not_satisfiable: [416, "The range is outside the content"],
  expectation_failed: [417, "The server does not support this Expect header"],
  state_locked: [423, "The state is locked"],
  provider_unavailable: [424, "The provider is unavailable"],
  too_many_requests: [429, "Too many requests"],
  headers_too_large: [431, "The request headers are too large"],
  internal_error: [500, "Internal server error"],
  unavailable: [503, "The server is starting or stopping"],
  storage_unavailable: [503, "The server cannot write to its storage"],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type ProblemCode = keyof typeof problemCodes;

/** An RFC 9457 problem document, sent as `application/problem+json`. */
export const Problem = Type.Object(
  {
    type: Type.String({ description: "A relative address that identifies the kind of problem." }),
    title: Type.String({ description: "A short description of the kind of problem." }),
    status: Type.Integer({ description: "The HTTP status." }),
    detail: Type.String({ description: "What happened in this case, and what to do." }),
    code: Type.String({ description: "The word that programs test. Its meaning never changes." }),
    request_id: Type.String({ description: "The id of this request in the server's log." }),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
        description: "`invalid_request`: each invalid field, such as `body.labels.0`.",
      }),
    ),
    expected_seq: Type.Optional(
      Type.Integer({ description: "`log_gap`: the position of the next chunk." }),
    ),
  },
  { additionalProperties: true },
);
export type Problem = Static<typeof Problem>;
