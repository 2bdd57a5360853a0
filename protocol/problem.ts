/** Errors as RFC 9457 problem details. Programs test `code`, whose meaning never changes. */
import { Type, type Static } from "typebox";

export { problemCodes, type ProblemCode } from "./problem-codes.ts";

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
