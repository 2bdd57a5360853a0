/** Requests of which a proxy and a server may see different ends, each with another one inside. */

/** Only a request that no proxy has seen keeps this address. */
export const smuggledFrom = "203.0.113.66";
export const smuggledPath = "/smuggled";

const inner = (end = "\r\n"): string =>
  ["GET /smuggled HTTP/1.1", "Host: localhost", `X-Forwarded-For: ${smuggledFrom}`, "", ""].join(
    end,
  );
const chunk = (text: string): string =>
  `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;
const length = (text: string): string => `Content-Length: ${Buffer.byteLength(text)}`;
const post = (
  headers: readonly string[],
  body: string,
  line = "POST /api/auth/cli/refresh HTTP/1.1",
) => [line, "Host: localhost", "Content-Type: application/json", ...headers, "", body].join("\r\n");

const afterEnd = `0\r\n\r\n${inner()}`;
const inChunk = chunk(inner());
const encodings = [
  "Transfer-Encoding: chunked",
  "Transfer-Encoding : chunked",
  " Transfer-Encoding: chunked",
  "Transfer-Encoding:\tchunked",
  "Transfer-Encoding: chunked\t",
  "Transfer-Encoding:\r\n chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: identity, chunked",
  'Transfer-Encoding: "chunked"',
  "Transfer-Encoding: \u000bchunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow",
  "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked",
  "Transfer_Encoding: chunked",
  "X: y\nTransfer-Encoding: chunked",
  "X: y\rTransfer-Encoding: chunked",
  "X: y\0Transfer-Encoding: chunked",
];
const lengths = (body: string): string[] => [
  `Content-Length: 0\r\n${length(body)}`,
  `${length(body)}\r\nContent-Length: 0`,
  `Content-Length: 0, ${Buffer.byteLength(body)}`,
  `Content-Length: +${Buffer.byteLength(body)}`,
  `Content-Length: 0x${Buffer.byteLength(body).toString(16)}`,
  `Content-Length : ${Buffer.byteLength(body)}`,
  `Content-Length:\r\n ${Buffer.byteLength(body)}`,
  `Content_Length: ${Buffer.byteLength(body)}`,
  `Content-Length: -1\r\n${length(body)}`,
  "Content-Length: 99999999999999999999999",
  "Content-Length: 18446744073709551616",
];
const chunks = [
  `2;a=\nxx\r\n3f\r\n{}\r\n0\r\n\r\n${inner()}`,
  `2\n{}\n0\n\n${inner()}`,
  `0x2\r\n{}\r\n0\r\n\r\n${inner()}`,
  `2 \r\n{}\r\n0\r\n\r\n${inner()}`,
  `10000000000000002\r\n{}\r\n0\r\n\r\n${inner()}`,
  `2\r\n{}XX0\r\n\r\n${inner()}`,
  `2;${"a".repeat(100)}\r\n{}\r\n0\r\n\r\n${inner()}`,
  `0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${inner()}`,
  `0\r\n\n${inner()}`,
];

/** By what is wrong with them. Each is sent on a connection of its own. */
export const smugglingAttempts: readonly (readonly [what: string, text: string])[] = [
  ...encodings.flatMap((encoding) => [
    [`CL.TE ${JSON.stringify(encoding)}`, post([length(afterEnd), encoding], afterEnd)] as const,
    [`TE.CL ${JSON.stringify(encoding)}`, post([encoding, "Content-Length: 4"], inChunk)] as const,
    [`TE alone ${JSON.stringify(encoding)}`, post([encoding], inChunk)] as const,
  ]),
  ...lengths(inner()).map(
    (one) => [`length ${JSON.stringify(one)}`, post([one], inner())] as const,
  ),
  ...chunks.map(
    (body) =>
      [
        `chunks ${JSON.stringify(body.slice(0, 24))}`,
        post(["Transfer-Encoding: chunked"], body),
      ] as const,
  ),
  [
    "TE in HTTP/1.0",
    post(["Transfer-Encoding: chunked"], inChunk, "POST /api/auth/cli/refresh HTTP/1.0"),
  ],
  ["a body of GET", post([length(inner())], inner(), "GET /healthz HTTP/1.1")],
  ["a body of HEAD", post([length(inner())], inner(), "HEAD /healthz HTTP/1.1")],
  ["a body of OPTIONS *", post([length(inner())], inner(), "OPTIONS * HTTP/1.1")],
  ["an upgrade", post(["Connection: Upgrade", "Upgrade: websocket", length(inner())], inner())],
  [
    "an upgrade to h2c",
    post(
      [
        "Connection: Upgrade, HTTP2-Settings",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
        length(inner()),
      ],
      inner(),
    ),
  ],
  ["an expectation", post(["Expect: 100-continue", length(inner())], inner())],
  ["lines that end in LF", post([length("{}")], "{}").replaceAll("\r\n", "\n") + inner("\n")],
  ["a line in the address", `GET /a\r\n\r\n${inner()}`],
  [
    "a space in the address",
    `GET /a HTTP/1.1 HTTP/1.1\r\nHost: localhost\r\n${length(inner())}\r\n\r\n${inner()}`,
  ],
  [
    "a connection header that drops the length",
    post(["Connection: content-length", length(inner())], inner()),
  ],
];
