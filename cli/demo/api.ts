/** The control plane as the demo calls it: with its token, until it has to stop, and never without an answer. */
import type { Endpoint } from "../../protocol/endpoint.ts";
import { call, type Called } from "../../protocol/transport.ts";
import { Failure } from "../output.ts";

type Input<E extends Endpoint> = Parameters<typeof call<E>>[2];

/** Calls an endpoint that always has something to say. */
export type Api = <E extends Endpoint>(
  endpoint: E,
  input: Input<E>,
) => Promise<Exclude<Called<E>, null>>;

/** Binds server, token and signal. */
export const apiOf =
  (server: string, token: string, signal: AbortSignal): Api =>
  async <E extends Endpoint>(endpoint: E, input: Input<E>) => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await call(server, endpoint, input, { headers, signal });
    if (answer === null) throw new Failure(`${endpoint.method} ${endpoint.path} answered nothing`);
    return answer as Exclude<Called<E>, null>;
  };
