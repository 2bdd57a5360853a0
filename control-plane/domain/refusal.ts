import { problemCodes, type Problem, type ProblemCode } from "../../protocol/problem.ts";
import { faultText } from "../../protocol/words.ts";

/** Thrown to refuse a request; changes of the same transaction are undone. */
export class RefusalError extends Error {
  override readonly name = "RefusalError";
  readonly code: ProblemCode;
  readonly more: Partial<Problem>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail?: string,
    more: Partial<Problem> = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail ?? problemCodes[code][1]);
    this.code = code;
    this.more = more;
    this.headers = headers;
  }
}

/** A refusal for one field of the input. */
export const invalid = (path: string, message: string): RefusalError =>
  new RefusalError("invalid_request", faultText({ path, message }), {
    errors: [{ path, message }],
  });

/** Nothing was changed, so `Retry-After` permits repeating any request. */
export const storageUnavailable = (detail: string): RefusalError =>
  new RefusalError("storage_unavailable", detail, {}, { "retry-after": "2" });

/** Refuses one more of what there is so many of. `has` names the limit, `advice` what to do. */
export function checkRoom(count: number, limit: number, has: string, advice: string): void {
  if (count >= limit)
    throw new RefusalError("quota_exceeded", `${has}, which is the limit: ${advice}`);
}

/** Also for an object of another user: the message must not show that it exists. */
export const notFound = (what: string): RefusalError =>
  new RefusalError("not_found", `there is no such ${what}`);
