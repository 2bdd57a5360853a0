/** What is said once for all operations: the introduction, and the headers that many of them share. */
import type { Json } from "./schemas.ts";

export const introduction = `Windlass is a control plane for Terraform and OpenTofu: people describe **configurations**, queue **jobs** that plan, deploy or
destroy them, and **workers** (runners) in their own network claim the jobs, run terraform and report. This document is made from the
schemas by which the server judges every request.

**First steps.** Sign in with a browser, then let a command line in: it makes a device code, you approve it at \`/cli/login?device_code=…\`, and
\`POST /api/auth/cli/exchange\` gives it an access token. With that: make a zone, a configuration in it, and a job for the configuration. A worker
registers with a token of \`POST /api/cli/registration-tokens\`.

**Format.** JSON in UTF-8; names in snake_case; times in RFC 3339, UTC, with milliseconds; ids are UUIDs, ids of log chunks integers that only grow.
What a person sends may have no unknown field; of what a worker sends, unknown fields are ignored. A body is at most 1 MiB unless its
operation says otherwise.

**Lists** have one plural key, newest first. Without \`limit\` the whole list is answered; with \`limit\` a page, and \`next_cursor\` for the next one.

**Refusals** are problem documents (RFC 9457) of the media type \`application/problem+json\`. \`code\` is the word for a program; each operation lists
its own. What is missing and what belongs to somebody else look the same: 404. A credential is judged before anything else.

**Tracing.** \`X-Request-Id\` of a request (1–100 characters of letters, digits, \`.\`, \`:\`, \`_\` and \`-\`) is taken over, else one is made. It is on every
answer, in every problem document and in the server's log.`;

const text = (description: string, example: string): Json => ({
  description,
  schema: { type: "string" },
  example,
});

const digest = "sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:";
const etag = '"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"';

const requestHeader = (name: string, description: string, example: string): Json => ({
  name,
  in: "header",
  required: false,
  ...text(description, example),
});

/** Request headers that have no schema, as nothing is refused for them but a digest that does not match. */
export const parameters = {
  ContentMd5: requestHeader(
    "Content-MD5",
    "The MD5 of the body in base64: 400 when it does not match.",
    "XUFAKrxLKna5cZ2REBfFkg==",
  ),
  Range: requestHeader("Range", "One range of bytes; several are answered whole.", "bytes=0-1023"),
  IfRange: requestHeader("If-Range", "The range only if the content is still this one.", etag),
  IfNoneMatch: requestHeader("If-None-Match", "304 if the content is still this one.", etag),
};

/** Headers of answers. */
export const headers = {
  "X-Request-Id": text("The id of this request in the server's log.", "7f3a5c0e91b2-2s"),
  ETag: text("Names the content by its SHA-256.", etag),
  "Repr-Digest": text("The digest of the whole content (RFC 9530).", digest),
  "Content-Digest": text("The digest of what is sent (RFC 9530).", digest),
  "Content-Range": text("Which part of how much.", "bytes 0-1023/9182"),
  "Accept-Ranges": text("Ranges of bytes are answered.", "bytes"),
  "WWW-Authenticate": text("The scheme that is asked for, where it has a name.", "Bearer"),
  "Retry-After": text("Seconds until it may be tried again.", "42"),
  Location: text("Where the browser goes on.", "/"),
  "Set-Cookie": text("The session, or the sign-in that is under way.", "windlass_session=…"),
};
