import { expect, test } from "vitest";
import { Revocation, sortFailure } from "../../../agent/api/failures.ts";
import { JobRefusedError } from "../../../agent/job/job-refused-error.ts";
import { ProblemError } from "../../../protocol/transport.ts";

test.each([
  [new ProblemError(500, {}), { kind: "retry", after: 0 }],
  [new ProblemError(503, {}, 5), { kind: "retry", after: 5 }],
  [new ProblemError(429, {}, 2), { kind: "retry", after: 2 }],
  [new ProblemError(408, {}), { kind: "retry", after: 0 }],
  [new ProblemError(401, {}), { kind: "unauthorized" }],
  [new ProblemError(400, {}), { kind: "give up" }],
  [new ProblemError(404, {}), { kind: "give up" }],
  [new ProblemError(409, { code: "not_job_holder" }), { kind: "give up" }],
  [new ProblemError(413, {}), { kind: "give up" }],
  [new JobRefusedError("refused", "too large"), { kind: "give up" }],
  [Object.assign(new Error("refused"), { code: "ECONNREFUSED" }), { kind: "retry", after: 0 }],
  [
    Object.assign(new Error("late"), { code: "UND_ERR_HEADERS_TIMEOUT" }),
    { kind: "retry", after: 0 },
  ],
  [new SyntaxError("a proxy's page is not JSON"), { kind: "retry", after: 0 }],
  [Object.assign(new Error("ours"), { code: "UND_ERR_INVALID_ARG" }), { kind: "give up" }],
])("sortFailure(%s) returns %o", (error, expected) => {
  expect(sortFailure(error)).toEqual(expected);
});

test.each([
  { refusals: [0, 10, 20], accepted: [], revoked: false, why: "not long enough" },
  { refusals: [0, 31], accepted: [], revoked: false, why: "not often enough" },
  { refusals: [0, 15, 31], accepted: [], revoked: true, why: "three over thirty seconds" },
  { refusals: [0, 15, 31], accepted: [20], revoked: false, why: "one was accepted in between" },
])(
  "a token refused after $refusals seconds: revoked $revoked, $why",
  ({ refusals, accepted, revoked }) => {
    let isRevoked = false;
    const revocation = new Revocation(30, () => {
      isRevoked = true;
    });
    for (const second of [...refusals, ...accepted].toSorted((a, b) => a - b)) {
      if (accepted.includes(second)) revocation.accepted();
      else revocation.refused(second * 1000);
    }
    expect(isRevoked).toBe(revoked);
  },
);
