/** The introduction of the OpenAPI document, and the headers that operations share. */
import type { Json } from "./schemas.ts";

export const introduction = `Windlass is a control plane for Terraform and OpenTofu: people describe **configurations**, queue **jobs** that plan, deploy or
destroy them, and **workers** (runners) in their own network claim the jobs, run terraform and report the results. This document is generated
from the schemas with which the server validates every request.

**First steps.** Sign in with a browser. To sign in a client, generate a device code, approve it at \`/cli/login?device_code=…\`, and exchange it
for an access token with \`POST /api/auth/cli/exchange\`. Then create a zone, a configuration in it, and a job for the configuration. A worker
registers with a token from \`POST /api/cli/registration-tokens\`.

**Format.** JSON in UTF-8. Names are in snake_case. Times are in RFC 3339, UTC, with milliseconds. Ids are UUIDs; ids of log chunks are increasing
integers. Unknown fields are refused in requests of users and ignored in requests of workers. A body is at most 1 MiB unless its operation says
otherwise.

**Lists** have one plural key and are ordered newest first. Without \`limit\` the whole list is returned. With \`limit\` one page is returned, and
\`next_cursor\` for the next one.

**Errors** are problem documents (RFC 9457) with the media type \`application/problem+json\`. Programs test \`code\`; each operation lists its codes.
A resource of another user gives the same 404 as one that does not exist. Credentials are checked before anything else.

**Tracing.** The server uses the \`X-Request-Id\` of a request (1–100 letters, digits, \`.\`, \`:\`, \`_\` and \`-\`) or generates one. It is in every
response, every problem document and the server's log.`;

const text = (description: string, example: string): Json => ({
  description,
  schema: { type: "string" },
  example,
});

/** Not as `example`: the document's page would send that with each request tried there. */
export const withExample = (description: string, example: string): string =>
  `${description} For example \`${example}\`.`;

const digest = "sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:";
const etag = '"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"';

const requestHeader = (name: string, description: string, example: string): Json => ({
  name,
  in: "header",
  required: false,
  description: withExample(description, example),
  schema: { type: "string" },
});

/** Request headers without a schema: no value of them is refused, except a wrong digest. */
export const parameters = {
  ContentMd5: requestHeader(
    "Content-MD5",
    "The MD5 of the body in base64. 400 if it does not match.",
    "XUFAKrxLKna5cZ2REBfFkg==",
  ),
  WindlassTeam: requestHeader(
    "Windlass-Team",
    "The slug of the team in which the request acts. Without it: the user's personal space, or the space of the access token. 404 `team_not_found` if the caller is not a member.",
    "platform",
  ),
  Range: requestHeader(
    "Range",
    "One range of bytes. With several ranges, the whole content is returned.",
    "bytes=0-1023",
  ),
  IfRange: requestHeader("If-Range", "Return the range only if the content is unchanged.", etag),
  IfNoneMatch: requestHeader("If-None-Match", "304 if the content is unchanged.", etag),
};

export const headers = {
  "X-Request-Id": text("The id of this request, also in the server's log.", "7f3a5c0e91b2-2s"),
  ETag: text("Names the content by its SHA-256.", etag),
  "Repr-Digest": text("The digest of the whole content (RFC 9530).", digest),
  "Content-Digest": text("The digest of the body (RFC 9530).", digest),
  "Content-Range": text("The returned range and the total size.", "bytes 0-1023/9182"),
  "Accept-Ranges": text("The server supports ranges of bytes.", "bytes"),
  "WWW-Authenticate": text("The required authentication scheme, if it has a name.", "Bearer"),
  "Retry-After": text("Seconds to wait before a retry.", "42"),
  Location: text("The page to go to.", "/"),
  "Set-Cookie": text("The session, or the sign-in in progress.", "windlass_session=…"),
};
