/** Connects to other machines with the proxies and authorities of this network. */
import { lookup } from "node:dns";
import { readFileSync } from "node:fs";
import type { LookupFunction } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import {
  Agent,
  connectorOf,
  setGlobalDispatcher,
  type Connector,
  type Dispatcher,
} from "../../common/http-client.ts";
import { EnvHttpProxyAgent } from "../../common/http-proxies.ts";
import { invalidProxyMessage, proxyAddress } from "../../common/proxy-address.ts";
import { ConfigError } from "../../common/settings/config-error.ts";

/** By their usual names (`HTTPS_PROXY`, `SSL_CERT_FILE`, …), as `config.ts` found them. */
export type Network = Readonly<Record<string, string>>;

const connectTimeout = 10_000;

/**
 * Connections also trust the authorities in `SSL_CERT_FILE`, as terraform's and git's do, and
 * requests without a dispatcher use the proxies. Throws `ConfigError` for an unreadable file, one
 * without a certificate, or a proxy without an address.
 */
export function useNetwork(network: Network): void {
  const file = network["SSL_CERT_FILE"] ?? network["ssl_cert_file"];
  if (file !== undefined) {
    setDefaultCACertificates([...getCACertificates("default"), ...certificatesIn(file)]);
  }
  if (hasProxy(network)) setGlobalDispatcher(dispatcherOf(network));
}

function certificatesIn(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(`SSL_CERT_FILE cannot be read: ${(error as Error).message}`);
  }
  const found = text.match(pem);
  if (!found) throw new ConfigError(`SSL_CERT_FILE: ${file} contains no certificate`);
  return found;
}

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Connections for one owner, who closes them, each opened within so many milliseconds. */
export function dispatcherOf(
  network: Network,
  connector?: (timeout: number) => Connector,
): Dispatcher {
  const connect = connector?.(connectTimeout) ?? { timeout: connectTimeout };
  if (!hasProxy(network)) return new Agent({ connect });
  const of = (name: string): string | undefined => network[name] ?? network[name.toLowerCase()];
  const [httpProxy, httpsProxy, noProxy] = [of("HTTP_PROXY"), of("HTTPS_PROXY"), of("NO_PROXY")];
  return new EnvHttpProxyAgent({
    connect,
    ...(httpProxy ? { httpProxy: addressOf("HTTP_PROXY", httpProxy) } : {}),
    ...(httpsProxy ? { httpsProxy: addressOf("HTTPS_PROXY", httpsProxy) } : {}),
    ...(noProxy ? { noProxy } : {}),
  });
}

function addressOf(name: string, text: string): string {
  const address = proxyAddress(text);
  if (address === null) throw new ConfigError(invalidProxyMessage(name));
  return address;
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

const hasProxy = (network: Network): boolean =>
  Object.keys(network).some((name) => /^https?_proxy$/i.test(name));
