/**
 * Typed API calls that validate every response against its schema and return refusals as values.
 */
import { Ajv } from "ajv";
import addFormats, { type FormatsPlugin } from "ajv-formats";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import { call, ProblemError, type CallOptions } from "../../../protocol/transport.ts";
import type { Plane } from "./plane.ts";

const ajv = new Ajv({ strict: false });
(addFormats as unknown as FormatsPlugin)(ajv);

type Input<E extends Endpoint> = Parameters<typeof call<E>>[2];
type Answered<E extends Endpoint> = NonNullable<Awaited<ReturnType<typeof call<E>>>>;

/** Calls as one caller: the headers are its credential. */
export function callsOf({ url }: Pick<Plane, "url">, headers: Record<string, string>) {
  const ask = async <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    options: CallOptions = {},
  ): Promise<Answered<E> | null> => {
    const merged = { ...options, headers: { ...headers, ...options.headers } };
    const answer = await call(url, endpoint, input, merged);
    if (answer !== null && endpoint.answer && !ajv.validate(endpoint.answer, answer))
      throw new Error(
        `${endpoint.path} returned a body that its schema does not allow: ${ajv.errorsText()}`,
      );
    return answer as Answered<E> | null;
  };
  return {
    ask,
    /** Calls and requires a response with a body. */
    get: async <E extends Endpoint>(
      endpoint: E,
      input: Input<E>,
      options?: CallOptions,
    ): Promise<Answered<E>> => {
      const answer = await ask(endpoint, input, options);
      if (answer === null) throw new Error(`${endpoint.path} returned no body`);
      return answer;
    },
    /** Calls and requires a refusal, returned as `409 not_job_holder`. */
    refusal: async <E extends Endpoint>(
      endpoint: E,
      input: Input<E>,
      options?: CallOptions,
    ): Promise<string> => {
      try {
        await ask(endpoint, input, options);
      } catch (error) {
        if (error instanceof ProblemError) return `${error.status} ${error.code}`;
        throw error;
      }
      return "not refused";
    },
  };
}
export type Calls = ReturnType<typeof callsOf>;
