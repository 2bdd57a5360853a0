/** The proxies and authorities of this network. */
import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { invalidProxyMessage, proxyAddress } from "./proxy-address.ts";
import { ConfigError } from "./settings/config-error.ts";

/** By their usual names (`HTTPS_PROXY`, `SSL_CERT_FILE`, …), as the environment has them. */
export type Network = Readonly<Record<string, string>>;

/** What terraform and git need too, to reach anything from inside of some networks. */
const names = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/** The proxies and authorities that the environment names, also in lower case. */
export function networkOf(environment: NodeJS.ProcessEnv): Network {
  const found: Record<string, string> = {};
  for (const name of names.flatMap((each) => [each, each.toLowerCase()])) {
    const value = environment[name];
    if (value) found[name] = value;
  }
  return found;
}

const settingOf = (network: Network, name: string): string | undefined =>
  network[name] ?? network[name.toLowerCase()];

/**
 * Makes all later connections of this process trust the authorities in `SSL_CERT_FILE` too, as
 * those of terraform and git do. Throws `ConfigError` for a file without a certificate.
 */
export function trustAuthorities(network: Network): void {
  const file = settingOf(network, "SSL_CERT_FILE");
  if (file !== undefined)
    setDefaultCACertificates([...getCACertificates("default"), ...certificatesIn(file)]);
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

interface Proxies {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy: string;
}

/** Undefined without a proxy. Throws `ConfigError` if one is not an address. */
export function proxiesOf(network: Network): Proxies | undefined {
  const [httpProxy, httpsProxy] = [
    addressOf(network, "HTTP_PROXY"),
    addressOf(network, "HTTPS_PROXY"),
  ];
  if (httpProxy === undefined && httpsProxy === undefined) return undefined;
  return {
    ...(httpProxy === undefined ? {} : { httpProxy }),
    ...(httpsProxy === undefined ? {} : { httpsProxy }),
    noProxy: settingOf(network, "NO_PROXY") ?? "",
  };
}

function addressOf(network: Network, name: string): string | undefined {
  const text = settingOf(network, name);
  if (text === undefined) return undefined;
  const address = proxyAddress(text);
  if (address === null) throw new ConfigError(invalidProxyMessage(name));
  // The HTTP client knows one scheme for SOCKS, and lets the proxy resolve names.
  return address.replace(/^socks5h:/, "socks5:");
}

/**
 * The proxies for agents of `node:http`: these want a scheme, use `HTTP_PROXY` for http addresses
 * only, and take a name in `NO_PROXY` for itself only, not for the names below it.
 */
export function nodeProxies(network: Network): Record<string, string> | undefined {
  const proxies = proxiesOf(network);
  if (!proxies) return undefined;
  const { httpProxy, httpsProxy = httpProxy, noProxy } = proxies;
  if ([httpProxy, httpsProxy].some((proxy) => proxy?.startsWith("socks")))
    throw new ConfigError("HTTPS_PROXY must be an http or https proxy: AWS is not called by SOCKS");
  const direct = noProxy.split(/[,\s]+/).filter((entry) => entry !== "");
  return {
    ...(httpProxy === undefined ? {} : { HTTP_PROXY: httpProxy }),
    ...(httpsProxy === undefined ? {} : { HTTPS_PROXY: httpsProxy }),
    NO_PROXY: direct
      .flatMap((entry) => (/^[a-z]/i.test(entry) ? [entry, `.${entry}`] : entry))
      .join(),
  };
}

/** Whether `NO_PROXY` names the host, or a domain that it is in, as undici does. */
export function isWithoutProxy(noProxy: string, url: URL): boolean {
  const host = hostIn(url);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return noProxy
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => {
      const found = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(entry);
      const [name, only = port] = found ? [found[1] ?? found[2] ?? "", found[3]] : [entry];
      if (name === "" || only !== port) return false;
      const domain = name.replace(/^\*?\./, "");
      return name === "*" || host === domain || host.endsWith(`.${domain}`);
    });
}

/** The host of a URL in lower case, an address without its brackets, a name without an end dot. */
export const hostIn = ({ hostname }: URL): string =>
  hostname
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
