/** Connects to other machines with the proxies and authorities of this network. */
import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { connectorOf, setGlobalDispatcher, type Connector } from "../../common/http-client.ts";
import { dispatcherOf } from "../../common/http-proxies.ts";
import { proxiesOf, trustAuthorities, type Network } from "../../common/network.ts";

/** Also for requests without a dispatcher. Throws `ConfigError` for a wrong setting. */
export function useNetwork(network: Network): void {
  trustAuthorities(network);
  if (proxiesOf(network)) setGlobalDispatcher(dispatcherOf(network));
}

/** `localhost` is only 127.0.0.1: at `::1`, a job could listen and pass on even the proof. */
export const plainConnector = (timeout: number): Connector =>
  connectorOf({ timeout, lookup: lookupPlain });

const lookupPlain: LookupFunction = (host, options, done) =>
  lookup(host === "localhost" ? "127.0.0.1" : host, options, done as never);

export const plainConnectorFor = (url: string): typeof plainConnector | undefined =>
  url.startsWith("http:") ? plainConnector : undefined;

/** The address for terraform. */
export const plainAddress = (url: string): string =>
  url.replace(/^http:\/\/localhost(?=[:/]|$)/i, "http://127.0.0.1");

/** Whether the network can read what is sent there: http to a host that is not this machine. */
export function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  const isLoopback =
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return protocol === "http:" && !isLoopback;
}
