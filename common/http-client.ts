/**
 * The parts of undici that Windlass uses: 39 of the 110 modules that its index loads, for 10 MiB
 * and a third of a start. Their paths are not public, so package.json names one version and
 * `test/common/http-client.test.ts` compares them with the index.
 */
import type * as undici from "undici";
import api from "undici/lib/api/index.js";
import Agent from "undici/lib/dispatcher/agent.js";
import Dispatcher from "undici/lib/dispatcher/dispatcher.js";
import connectorOf from "undici/lib/core/connect.js";
import globals from "undici/lib/global.js";
import redirect from "undici/lib/interceptor/redirect.js";

export { Agent, connectorOf, redirect };
export type { Dispatcher } from "undici";

/** Opens the connections of a dispatcher. */
export type Connector = undici.buildConnector.connector;

// As undici's index does it: a proxy's dispatcher calls its own method `connect`.
Object.assign(Dispatcher.prototype, api);

export const { setGlobalDispatcher } = globals;

type RequestOptions = NonNullable<Parameters<typeof undici.request>[1]>;

/**
 * By HTTP/1.1: in one connection of HTTP/2 a heartbeat would wait for a log, and loading it takes
 * an eighth of a short command's CPU time (`zones list`: 90 ms, without 77).
 */
export async function request(
  url: string,
  { dispatcher = globals.getGlobalDispatcher(), ...options }: RequestOptions = {},
): Promise<undici.Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  const method = options.method ?? "GET";
  const path = pathname + search;
  return api.request.call(dispatcher, { ...options, origin, path, method, allowH2: false });
}
