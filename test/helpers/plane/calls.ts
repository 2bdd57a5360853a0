/**
 * Typed API calls that validate every response against its schema and return refusals as values.
 */
import { Ajv } from "ajv";
import addFormats, { type FormatsPlugin } from "ajv-formats";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import { endpoints, type EndpointName } from "../../../protocol/endpoints.ts";
import {
  call,
  ProblemError,
  type Called,
  type CallOptions,
  type Input,
} from "../../../protocol/transport.ts";
import type { Plane } from "./plane.ts";

const ajv = new Ajv({ strict: false });
(addFormats as unknown as FormatsPlugin)(ajv);

/** The input may be left out if it may be empty. */
type Args<N extends EndpointName> =
  Input<N> extends { params: object } | { body: unknown }
    ? [input: Input<N>, options?: CallOptions]
    : [input?: Input<N>, options?: CallOptions];

/** Calls as one caller: the headers are its credential. */
export function callsOf({ url }: Pick<Plane, "url">, headers: Record<string, string>) {
  const ask = async <N extends EndpointName>(
    name: N,
    ...args: Args<N>
  ): Promise<Called<N> | null> => {
    const [input, options] = args as [Input<N>?, CallOptions?];
    const merged = { ...options, headers: { ...headers, ...options?.headers } };
    const answer = await call(url, name, input ?? {}, merged);
    const { answer: schema }: Endpoint = endpoints[name];
    if (answer !== null && schema && !ajv.validate(schema, answer))
      throw new Error(
        `${name} returned a body that its schema does not allow: ${ajv.errorsText()}`,
      );
    return answer;
  };
  return {
    /** Calls an endpoint that may have no content to return. */
    ask,
    /** Calls, and requires a response with a body if the endpoint has one. */
    call: async <N extends EndpointName>(name: N, ...args: Args<N>): Promise<Called<N>> => {
      const answer = await ask(name, ...args);
      if (answer === null && endpoints[name].answer) throw new Error(`${name} returned no body`);
      return answer;
    },
    /** Calls and requires a refusal, returned as `409 not_job_holder`. */
    refusal: async <N extends EndpointName>(name: N, ...args: Args<N>): Promise<string> => {
      try {
        await ask(name, ...args);
      } catch (error) {
        if (error instanceof ProblemError) return `${error.status} ${error.code}`;
        throw error;
      }
      return "not refused";
    },
  };
}
export type Calls = ReturnType<typeof callsOf>;
