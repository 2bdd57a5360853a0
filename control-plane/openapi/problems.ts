/** Problem documents of endpoints (RFC 9457): one response per status, with its possible codes. */
import type { Endpoint } from "../../protocol/endpoint.ts";
import { problemCodes, type Problem, type ProblemCode } from "../../protocol/problem.ts";
import { faultMessages } from "../domain/fault-messages.ts";
import { anyEndpointRefuses, refusalsOf } from "./refusals.ts";
import type { Json } from "./schemas.ts";

export class Problems {
  readonly #responses = new Map<string, Json>();
  readonly #examples = new Map<string, Json>();

  /** Returns references by status, and `default` for the problems of any request. */
  responsesOf(endpoint: Endpoint): Json {
    const byStatus = Map.groupBy(refusalsOf(endpoint), (code) => problemCodes[code][0]);
    return {
      ...Object.fromEntries(
        [...byStatus].map(([status, codes]) => [status, this.#respond(codes.toSorted())]),
      ),
      default: { $ref: "#/components/responses/AnyProblem" },
    };
  }

  responses(): Record<string, Json> {
    return { AnyProblem: anyProblem, ...sorted(this.#responses) };
  }

  examples(): Record<string, Json> {
    return sorted(this.#examples);
  }

  #respond(codes: readonly ProblemCode[]): Json {
    const name = codes.map(pascal).join("Or");
    this.#responses.set(name, responseOf(codes));
    for (const code of codes) this.#examples.set(pascal(code), { value: problemExample(code) });
    return { $ref: `#/components/responses/${name}` };
  }
}

function responseOf(codes: readonly ProblemCode[]): Json {
  const headers = ["X-Request-Id", ...new Set(codes.flatMap((code) => moreHeaders[code] ?? []))];
  return {
    description: codes.map((code) => `\`${code}\`: ${problemCodes[code][1]}.`).join("\n\n"),
    headers: Object.fromEntries(
      headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    ),
    content: {
      "application/problem+json": {
        schema: { allOf: [problemRef, { properties: { code: { enum: codes } } }] },
        examples: Object.fromEntries(
          codes.map((code) => [code, { $ref: `#/components/examples/${pascal(code)}` }]),
        ),
      },
    },
  };
}

const moreHeaders: Readonly<Partial<Record<ProblemCode, readonly string[]>>> = {
  unauthenticated: ["WWW-Authenticate"],
  too_many_requests: ["Retry-After"],
  range_not_satisfiable: ["Content-Range"],
};

const problemRef: Json = { $ref: "#/components/schemas/Problem" };

const anyProblem: Json = {
  description: [
    "Any request may return these:\n",
    ...anyEndpointRefuses.map(
      (code) => `- ${problemCodes[code][0]} \`${code}\`: ${problemCodes[code][1]}.`,
    ),
  ].join("\n"),
  headers: {
    "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" },
    "Retry-After": { $ref: "#/components/headers/Retry-After" },
  },
  content: {
    "application/problem+json": { schema: problemRef, example: problemExample("unavailable") },
  },
};

/** Returns the document that the server sends when it has no further detail. */
export function problemExample(code: ProblemCode): Problem {
  const [status, title] = problemCodes[code];
  const more: Partial<Problem> = {
    ...(code === "invalid_request"
      ? { errors: [{ path: "body.name", message: faultMessages.required() }] }
      : {}),
    ...(code === "log_gap" ? { expected_seq: 7 } : {}),
  };
  const type = `/problems/${code}`;
  return { type, title, status, detail: title, code, request_id: "7f3a5c0e91b2-2s", ...more };
}

const pascal = (code: string): string =>
  code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

const sorted = (map: ReadonlyMap<string, Json>): Record<string, Json> =>
  Object.fromEntries([...map].toSorted(([a], [b]) => (a < b ? -1 : 1)));
