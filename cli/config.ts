/**
 * Reads the client's settings, which common/settings/client.ts declares. Nothing else in cli/ reads
 * the environment.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { invalidProxyMessage, proxyAddress } from "../common/proxy-address.ts";
import { clientSettings } from "../common/settings/client.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import { settingsReader } from "../common/settings/read.ts";

export interface ClientSettings {
  /** `WINDLASS_URL`: overrides the current profile; `--server` overrides it. */
  readonly url: string | undefined;
  /** `WINDLASS_TOKEN`, for pipelines: used instead of a profile's token. */
  readonly token: string | undefined;
  /** Whether `WINDLASS_TOKEN_FILE` names the file of the token. */
  readonly isTokenInFile?: boolean;
  /** The variable for the token that is set, but has none, as if a pipeline lacks the secret. */
  readonly emptyToken?: string | undefined;
  /** `WINDLASS_TEAM`: overrides the team of the profile; `--team` overrides it. */
  readonly team?: string | undefined;
  readonly directory: string;
}

/** Reads the client's settings. Throws `ConfigError` if one is invalid. */
export function readClientSettings(environment: NodeJS.ProcessEnv = process.env): ClientSettings {
  const read = settingsReader(clientSettings, environment);
  const isTokenInFile = !environment["WINDLASS_TOKEN"];
  const token = tokenOf(read("WINDLASS_TOKEN"), tokenVariable({ isTokenInFile }));
  const tokenNames = ["WINDLASS_TOKEN", "WINDLASS_TOKEN_FILE"];
  return {
    url: read("WINDLASS_URL"),
    token,
    emptyToken:
      token === undefined ? tokenNames.find((name) => environment[name] !== undefined) : undefined,
    isTokenInFile,
    team: read("WINDLASS_TEAM"),
    directory: read("WINDLASS_CONFIG_DIR") ?? defaultDirectory(environment),
  };
}

/** The variable that has the token, for messages. */
export const tokenVariable = ({ isTokenInFile }: Pick<ClientSettings, "isTokenInFile">): string =>
  isTokenInFile ? "WINDLASS_TOKEN_FILE" : "WINDLASS_TOKEN";

/** A line break or an ellipsis would make a header that cannot be sent. */
function tokenOf(text: string | undefined, name: string): string | undefined {
  if (text === undefined || /^[!-~]+$/.test(text)) return text;
  throw new ConfigError(
    `${name} has a character that no token has, such as a line break or an ellipsis. Copy the whole token as it was printed when it was created; lists show only its beginning.`,
  );
}

/** Follows the XDG convention, also on macOS; uses `%APPDATA%` on Windows. */
function defaultDirectory(environment: NodeJS.ProcessEnv): string {
  if (process.platform === "win32" && environment["APPDATA"])
    return join(environment["APPDATA"], "windlass");
  return join(environment["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "windlass");
}

/** Returns the names of the variables of this shell that terraform itself would read. */
export const terraformVariables = (): string[] =>
  Object.keys(process.env).filter((name) => name.startsWith("TF_VAR_"));

/** The HTTP proxies, and the hosts that bypass them; the local machine always does. */
export interface ProxySettings {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy: string;
}

/** Undefined if no proxy is set. Throws `ConfigError` if one is not an address. */
export function proxySettings(): ProxySettings | undefined {
  const environment = process.env;
  const of = (name: string): string | undefined => {
    const text = environment[name.toLowerCase()] || environment[name];
    const address = text ? proxyAddress(text) : undefined;
    if (address === null) throw new ConfigError(invalidProxyMessage(name));
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

/** Returns the user's environment for the processes of `windlass dev`, and the port to listen on. */
export const devEnvironment = (): { environment: NodeJS.ProcessEnv; port: string } => ({
  environment: { ...process.env, NO_PROXY: withThisMachine(process.env) },
  port: process.env["WINDLASS_PORT"] ?? "8080",
});

/** Enough of the user's environment to find programs, but no settings of another Windlass. */
export function demoEnvironment(): NodeJS.ProcessEnv {
  const wanted =
    /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LC_\w+|https?_proxy|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|SSL_CERT_(FILE|DIR)|WINDLASS_ENGINE_\w+)$/i;
  const kept = Object.entries(process.env).filter(([name]) => wanted.test(name));
  return { ...Object.fromEntries(kept), NO_PROXY: withThisMachine(process.env) };
}
