/**
 * Reads the client's settings; nothing else in cli/ reads the environment. common/settings/client.ts declares them, docs/settings.md,
 * "The client", describes them.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { noProxyAddress, proxyAddress } from "../common/proxy-address.ts";
import { clientSettings } from "../common/settings/client.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import { settingsReader } from "../common/settings/read.ts";

export interface ClientSettings {
  /** `WINDLASS_URL`: goes before the current profile, behind `--server`. */
  readonly url: string | undefined;
  /** `WINDLASS_TOKEN`, for pipelines: used instead of a profile's. */
  readonly token: string | undefined;
  /** Where profiles and tokens are kept. */
  readonly directory: string;
}

/** Reads the client's settings. Throws `ConfigError`. */
export function readClientSettings(environment: NodeJS.ProcessEnv = process.env): ClientSettings {
  const read = settingsReader(clientSettings, environment);
  return {
    url: read("WINDLASS_URL"),
    token: read("WINDLASS_TOKEN"),
    directory: read("WINDLASS_CONFIG_DIR") ?? defaultDirectory(environment),
  };
}

/** Like most command lines, also on macOS; `%APPDATA%` on Windows. */
function defaultDirectory(environment: NodeJS.ProcessEnv): string {
  if (process.platform === "win32" && environment["APPDATA"])
    return join(environment["APPDATA"], "windlass");
  return join(environment["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "windlass");
}

/** The proxies of this network, and the hosts that are reached without; this machine always is. */
export interface ProxySettings {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy: string;
}

/** From `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; undefined where there are none. Throws `ConfigError` if one is no address. */
export function proxySettings(
  environment: NodeJS.ProcessEnv = process.env,
): ProxySettings | undefined {
  const of = (name: string): string | undefined => {
    const text = environment[name.toLowerCase()] || environment[name];
    const address = text ? proxyAddress(text) : undefined;
    if (address === null) throw new ConfigError(noProxyAddress(name));
    return address;
  };
  const [httpProxy, httpsProxy] = [of("HTTP_PROXY"), of("HTTPS_PROXY")];
  if (httpProxy === undefined && httpsProxy === undefined) return undefined;
  return {
    ...(httpProxy === undefined ? {} : { httpProxy }),
    ...(httpsProxy === undefined ? {} : { httpsProxy }),
    noProxy: withThisMachine(environment),
  };
}

const withThisMachine = (environment: NodeJS.ProcessEnv): string =>
  [environment["NO_PROXY"] ?? environment["no_proxy"], "localhost", "127.0.0.1", "::1"]
    .filter(Boolean)
    .join(",");

/** What the demo's children get from the user's environment: enough to find programs, and no setting of another Windlass. */
export function demoEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const wanted =
    /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LC_\w+|https?_proxy|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|SSL_CERT_(FILE|DIR)|WINDLASS_ENGINE_\w+)$/i;
  const given = Object.entries(environment).filter(([name]) => wanted.test(name));
  return { ...Object.fromEntries(given), NO_PROXY: withThisMachine(environment) };
}
