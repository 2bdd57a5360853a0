/** Reads the values of single settings. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Type } from "typebox";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A setting in seconds with this default. */
export const Seconds = (value: number, maximum = 86_400) =>
  Type.Number({ default: value, minimum: 0.01, maximum });

/** The parts between commas. */
export const listOf = (value: string): string[] =>
  value
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);

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

/** Settings of the other roles and of the starter, which may share one file of settings with the agent. */
const othersNames =
  /^WINDLASS_(HOST|PORT|PUBLIC_URL|TRUSTED_PROXIES|DATA_DIR|DATABASE_URL|ARTIFACTS_URL|SECRET_KEY(_FILE)?|OFFLINE_SECONDS|LOST_SECONDS|DRAIN_SECONDS|TOKEN|CONFIG_DIR|PROVE)$/;

/** A warning for each name that nobody knows. */
export function unknownNames(environment: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  return Object.keys(environment)
    .filter(
      (name) => name.startsWith("WINDLASS_") && !known.includes(name) && !othersNames.test(name),
    )
    .map((name) => `${name} is not a setting that this version knows`);
}
