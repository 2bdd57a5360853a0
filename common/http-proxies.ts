/** The part of undici that sends requests through proxies, which a client without them does not load. */
import EnvHttpProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";
import { Agent, type Connector, type Dispatcher } from "./http-client.ts";
import { proxiesOf, type Network } from "./network.ts";

export { EnvHttpProxyAgent };

const connectTimeout = 10_000;

/**
 * Connections for one owner, who closes them, each opened within so many milliseconds. `requestTls`
 * is for connections through a proxy, which `connector` does not open.
 */
export function dispatcherOf(
  network: Network,
  connector?: (timeout: number) => Connector,
  requestTls: { readonly ca?: string } = {},
): Dispatcher {
  const connect = connector?.(connectTimeout) ?? { timeout: connectTimeout };
  const proxies = proxiesOf(network);
  return proxies
    ? new EnvHttpProxyAgent({ connect, requestTls, ...proxies })
    : new Agent({ connect });
}
