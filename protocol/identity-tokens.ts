/** The tokens with which the jobs of a runner sign in to a cloud or to Vault. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { attemptHeader } from "./executions.ts";
import { about, OneOf, Timestamp } from "./fields.ts";
import { Audience } from "./identity-fields.ts";
import { jobParams } from "./jobs.ts";

export const TokenPhase = OneOf(["plan", "apply"]);
export type TokenPhase = Static<typeof TokenPhase>;

/** Unknown fields are ignored, as in all messages of runners. */
export const RequestIdentityToken = Type.Object({
  audience: about(Audience, "The audience of the cloud identity, as in the claim."),
  phase: about(TokenPhase, "A PLAN may only ask for `plan`."),
});
export type RequestIdentityToken = Static<typeof RequestIdentityToken>;

export const IdentityToken = Type.Object({
  token: about(Type.String(), "A JWT that the issuer of this server signed with RS256."),
  expires_at: Timestamp,
});
export type IdentityToken = Static<typeof IdentityToken>;

export const identityTokenEndpoints = {
  createIdentityToken: endpoint("POST /api/jobs/{id}/identity-token", {
    summary: "Get a token with which the job signs in to its cloud",
    description:
      "For a job whose cloud identity is not of the provider `aws`. A PLAN gets tokens of the phase `plan`; a DEPLOY, DESTROY or DESTROY_WORKER that has started gets both. The token holds for at most ten minutes.",
    caller: "worker",
    params: jobParams,
    headers: attemptHeader,
    body: RequestIdentityToken,
    bodyLimit: 8 * 1024,
    answer: IdentityToken,
    refusals: [
      "audience_not_allowed",
      "phase_not_allowed",
      "job_ended",
      "not_job_holder",
      "subject_too_long",
      "too_many_requests",
      "unreadable",
    ],
  }),
};
