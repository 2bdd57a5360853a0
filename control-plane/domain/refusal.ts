/** Refusals: how every layer below http/ says no to a request. http/problem.ts writes them on the wire. */
import { problemCodes, type Problem, type ProblemCode } from "../../protocol/problem.ts";
import { faultText } from "../../protocol/words.ts";

/** Thrown to answer a request with the problem `code`. What was written in the same transaction is undone. */
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

/** The same words for what is missing and for what is someone else's. */
export const notFound = (what: string): RefusalError =>
  new RefusalError("not_found", `there is no such ${what}`);
