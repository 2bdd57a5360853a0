import { RefusalError, storageUnavailable } from "../domain/refusal.ts";
import { refusedFields } from "../domain/validator-of.ts";
import { isUncertain, storageTrouble } from "../domain/storage-troubles.ts";
import type { ErrorObject } from "ajv";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { problemCodes, type Problem, type ProblemCode } from "../../protocol/problem.ts";
import { UnreadableError } from "../domain/secret-box.ts";
import { routeOf } from "./route-of.ts";
import { answerUnread } from "./unread-body.ts";

export function problemText(
  code: ProblemCode,
  requestId: string,
  detail: string,
  more: Partial<Problem> = {},
): string {
  const [status, title] = problemCodes[code];
  const problem: Problem = {
    type: `/problems/${code}`,
    title,
    status,
    detail,
    code,
    request_id: requestId,
    ...more,
  };
  return JSON.stringify(problem);
}

/** `linger`: how long the client may continue to send. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  linger?: number,
): void {
  const refusal = refusalOf(error, request);
  const [status] = problemCodes[refusal.code];
  const text = problemText(refusal.code, request.id, refusal.message, refusal.more);
  // Set by content whose first bytes could not be read.
  for (const name of ["content-md5", "content-digest", "etag"]) reply.removeHeader(name);
  reply
    .headers(refusal.headers)
    // Also for requests that are refused before any hook runs, such as of a malformed address.
    .header("x-request-id", request.id)
    .header("cache-control", "no-store")
    .type("application/problem+json");
  // Terraform takes it in place of its own waits, which grow: its patience would be a tenth.
  if (routeOf(request).config.endpoint?.caller === "job") reply.removeHeader("retry-after");
  answerUnread(reply, status, text, linger);
}

/** Returns the refusal for an error of a request. Logs the errors that are the server's own. */
export function refusalOf(error: unknown, request: FastifyRequest): RefusalError {
  const refusal = asRefusal(error);
  if (refusal.code === "unreadable")
    request.log.warn({ err: error, request_id: request.id }, refusal.message);
  if (refusal.code === "internal_error")
    request.log.error({ err: error, request_id: request.id }, "a request failed");
  if (refusal.code === "storage_unavailable")
    request.log.error({ err: error, request_id: request.id }, refusal.message);
  return refusal;
}

function asRefusal(error: unknown): RefusalError {
  if (error instanceof RefusalError) return error;
  if (error instanceof UnreadableError) return new RefusalError("unreadable", error.message);
  const { validation, validationContext, code, statusCode, message } =
    error as Partial<FastifyError>;
  const trouble = storageTrouble(error);
  // Fastify's type of Ajv's errors lacks half of the fields.
  if (validation) return refusedFields(validation as ErrorObject[], validationContext);
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new RefusalError("payload_too_large");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new RefusalError(
        "unsupported_media_type",
        "the body must be JSON: send it with Content-Type: application/json",
      );
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
    case "FST_ERR_CTP_INVALID_JSON_BODY":
      return new RefusalError("malformed_json");
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new RefusalError("bad_request", "the length of the body differs from Content-Length");
    default:
      if (trouble !== undefined) return storageRefusal(error, trouble);
      if (error instanceof SyntaxError && statusCode === 400)
        return new RefusalError("malformed_json");
      return statusCode !== undefined && statusCode >= 400 && statusCode < 500
        ? new RefusalError("bad_request", message)
        : new RefusalError(
            "internal_error",
            "the server failed because of a defect; its log has the details",
          );
  }
}

/** No client may repeat every request after an error that leaves open whether a change was made. */
function storageRefusal(error: unknown, trouble: string): RefusalError {
  return isUncertain(error)
    ? new RefusalError("storage_unavailable", `${trouble}; the change may have been made`)
    : storageUnavailable(trouble);
}
