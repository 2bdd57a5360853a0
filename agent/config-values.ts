/** Reads the values of single settings. */
import { existsSync } from "node:fs";
import { join } from "node:path";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where an agent works that was told nothing. */
export function defaultWorkDir(environment: NodeJS.ProcessEnv): string {
  const fromSystemd = environment["STATE_DIRECTORY"]?.split(":")[0];
  if (fromSystemd) return fromSystemd;
  const isCheckout = existsSync(join(import.meta.dirname, "..", "main.ts"));
  return isCheckout ? ".windlass/agent" : "/var/lib/windlass-agent";
}

/** `host:port`, where a host of version 6 stands in brackets. */
export function addressOf(text: string | undefined): Address | undefined {
  if (text === undefined) return undefined;
  const { hostname: host, port } = new URL(`http://${text}`);
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port || 80) };
}

/** What terraform and git need to reach anything from inside of some networks. */
const networkNames = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/** The proxies and authorities that the environment names. */
export function networkOf(environment: NodeJS.ProcessEnv): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of networkNames.flatMap((each) => [each, each.toLowerCase()])) {
    const value = environment[name];
    if (value) found[name] = value;
  }
  return found;
}

/** Whether what is sent to this address can be read on the network: http to a host that is not this machine. */
export function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  const isLoopback =
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return protocol === "http:" && !isLoopback;
}
