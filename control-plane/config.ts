/** The control plane's settings: the only file here that reads the environment. Names and defaults: docs/settings.md, "The control plane". */
import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import type { Quotas } from "./domain/quotas.ts";
import { day, forever, type Retention } from "./domain/retention.ts";
import { signInGroupLimit, signInRule, type SignInRule } from "./domain/sign-in-allow.ts";
import { providerNames, type ProviderName, type Providers } from "./domain/providers.ts";

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  /** As people and runners reach the server; undefined: derived from the address it listens on. */
  readonly publicUrl: string | undefined;
  readonly trustedProxies: readonly string[];
  readonly dataDirectory: string;
  readonly databaseFile: string;
  readonly artifactsDirectory: string;
  /** From the settings; undefined: made on first start and kept in the data directory. */
  readonly jwtSecret: string | undefined;
  readonly secretKey: string | undefined;
  /** Keys that sealed data before `secretKey`, until `windlass server rotate-key` has run. */
  readonly olderSecretKeys: readonly string[];
  readonly releaseSecret: string | undefined;
  readonly providers: Providers;
  readonly signInAllow: readonly SignInRule[];
  readonly heartbeatSeconds: number;
  readonly offlineSeconds: number;
  readonly lostSeconds: number;
  /** At a stop, requests under way get this long before their connections are cut. */
  readonly drainSeconds: number;
  readonly retention: Retention;
  readonly quotas: Quotas;
  /** The head of a request, and a body of JSON, must have arrived by then; a client that takes nothing of an answer for so long is cut. */
  readonly requestSeconds: number;
  /** How many event streams a person may have open at one time. */
  readonly streamsPerPerson: number;
  readonly logLevel: LogLevel;
  readonly logFormat: "pretty" | "json";
  /** Things worth a warning line, such as a misspelt setting. */
  readonly warnings: readonly string[];
}

export const logLevels = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** A setting is wrong; the message names it and says what it should be. The process ends with exit code 78. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Reads the settings from `environment`. Throws `ConfigError`. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): ServerConfig {
  const read = new Reader(environment);
  const providers = Object.fromEntries(providerNames.flatMap((name) => providerOf(read, name)));
  const signInAllow = signInAllowOf(read);
  const dataDirectory = resolve(
    read.text("WINDLASS_DATA_DIR") ?? defaultDataDirectory(environment),
  );
  return {
    host: read.text("WINDLASS_HOST") ?? "127.0.0.1",
    port: read.whole("WINDLASS_PORT", 8080, 0, 65_535),
    publicUrl: read.httpUrl("WINDLASS_PUBLIC_URL"),
    trustedProxies: read.networks("WINDLASS_TRUSTED_PROXIES"),
    dataDirectory,
    databaseFile: read.location(
      "WINDLASS_DATABASE_URL",
      "sqlite:",
      join(dataDirectory, "windlass.db"),
    ),
    artifactsDirectory: read.location(
      "WINDLASS_ARTIFACTS_URL",
      "file:",
      join(dataDirectory, "blobs"),
    ),
    jwtSecret: read.secret("CLI_JWT_SECRET", 32),
    secretKey: read.secret("WINDLASS_SECRET_KEY", 32),
    olderSecretKeys: read.secrets("WINDLASS_SECRET_KEY_OLD", 32),
    releaseSecret: read.secret("RELEASE_API_SECRET", 32),
    providers,
    signInAllow,
    heartbeatSeconds: read.number("WINDLASS_HEARTBEAT_SECONDS", 30, 0.01, 3600),
    offlineSeconds: read.number("WINDLASS_OFFLINE_SECONDS", 60, 0.02, 86_400),
    lostSeconds: read.number("WINDLASS_LOST_SECONDS", 30, 0.01, 86_400),
    requestSeconds: read.number("WINDLASS_REQUEST_SECONDS", 60, 0.1, 300),
    streamsPerPerson: read.whole("WINDLASS_STREAMS_PER_PERSON", 50, 1, 100_000),
    drainSeconds: read.number("WINDLASS_DRAIN_SECONDS", 25, 0.01, 3600),
    retention: {
      logs: read.days("WINDLASS_RETENTION_LOG_DAYS", 90),
      artifacts: read.days("WINDLASS_RETENTION_ARTIFACT_DAYS", 30),
      archives: read.days("WINDLASS_RETENTION_ARCHIVE_DAYS", 30),
      states: read.days("WINDLASS_RETENTION_STATE_DAYS", 365),
      stateVersions: read.whole("WINDLASS_RETENTION_STATE_VERSIONS", 100, 1, 1_000_000),
    },
    quotas: {
      queuedJobs: read.whole("WINDLASS_QUOTA_QUEUED_JOBS", 1000, 1, 1_000_000),
      configurations: read.whole("WINDLASS_QUOTA_CONFIGURATIONS", 10_000, 1, 1_000_000),
      archiveBytes: read.mebibytes("WINDLASS_QUOTA_ARCHIVE_MIB", 5120),
      stateBytes: read.mebibytes("WINDLASS_QUOTA_STATE_MIB", 5120),
      logBytes: read.mebibytes("WINDLASS_QUOTA_LOG_MIB", 256),
    },
    logLevel: read.word("WINDLASS_LOG_LEVEL", logLevels) ?? "info",
    logFormat:
      read.word("WINDLASS_LOG_FORMAT", ["pretty", "json"] as const) ??
      (process.stderr.isTTY ? "pretty" : "json"),
    warnings: [...unknownSettings(environment), ...signInWarnings(providers, signInAllow)],
  };
}

/** A provider is on when both its id and its secret are set; one without the other is a mistake. */
function providerOf(read: Reader, provider: ProviderName) {
  const name = provider.toUpperCase();
  const clientId = read.secret(`${name}_CLIENT_ID`, 1);
  const clientSecret = read.secret(`${name}_CLIENT_SECRET`, 1);
  const baseUrl = read.httpUrl(`${name}_BASE_URL`);
  if (clientId === undefined && clientSecret === undefined) return [];
  if (clientId === undefined || clientSecret === undefined)
    throw new ConfigError(
      `${name}_CLIENT_${clientId === undefined ? "ID" : "SECRET"} must be set too: sign-in with a provider needs both`,
    );
  return [[provider, { clientId, clientSecret, baseUrl, timeoutMilliseconds: 10_000 }] as const];
}

function signInAllowOf(read: Reader): SignInRule[] {
  const rules = read.list("WINDLASS_SIGN_IN_ALLOW").map((text) => {
    const rule = signInRule(text);
    if (rule === undefined)
      throw new ConfigError(
        `WINDLASS_SIGN_IN_ALLOW must name addresses, @domains, github:org/NAME, gitlab:group/PATH or *, separated by commas, not "${text}"`,
      );
    return rule;
  });
  if (rules.filter(({ kind }) => kind === "group").length > signInGroupLimit)
    throw new ConfigError(
      `WINDLASS_SIGN_IN_ALLOW must name at most ${signInGroupLimit} organisations and groups`,
    );
  return rules;
}

/** A list that lets no one in, or an entry that never can, is better known before people come. */
function signInWarnings(providers: Providers, rules: readonly SignInRule[]): string[] {
  const isOn = Object.keys(providers).length > 0;
  const groups = rules.filter((rule) => rule.kind === "group");
  const off = new Set(groups.map(({ provider }) => provider).filter((name) => !providers[name]));
  return [
    ...(isOn && rules.length === 0
      ? [
          "WINDLASS_SIGN_IN_ALLOW is empty: sign-in with a provider is open only to people with a link (windlass server login-link)",
        ]
      : []),
    ...[...off].map(
      (name) => `WINDLASS_SIGN_IN_ALLOW names groups of ${name}, but sign-in with ${name} is off`,
    ),
  ];
}

function defaultDataDirectory(environment: NodeJS.ProcessEnv): string {
  const fromSystemd = environment["STATE_DIRECTORY"];
  if (fromSystemd !== undefined) return fromSystemd.split(":")[0] ?? fromSystemd;
  const isCheckout = existsSync(join(import.meta.dirname, "..", "main.ts"));
  return isCheckout ? ".windlass" : "/var/lib/windlass";
}

class Reader {
  readonly #environment: NodeJS.ProcessEnv;
  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** An empty value counts as not set, as in shells and unit files. */
  text(name: string): string | undefined {
    const value = this.#environment[name];
    return value === undefined || value === "" ? undefined : value;
  }

  list(name: string): string[] {
    return (this.text(name) ?? "").split(",").flatMap((part) => part.trim() || []);
  }

  /** Addresses and networks such as 10.0.0.0/8, separated by commas. */
  networks(name: string): string[] {
    const given = this.list(name);
    for (const network of given)
      if (!isNetwork(network))
        throw new ConfigError(
          `${name} must be addresses or networks separated by commas, such as 10.0.0.0/8; "${network}" is neither`,
        );
    return given;
  }

  number(name: string, fallback: number, minimum: number, maximum: number): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!Number.isFinite(value) || value < minimum || value > maximum)
      throw new ConfigError(
        `${name} must be a number from ${minimum} to ${maximum}, not "${text}"`,
      );
    return value;
  }

  whole(name: string, fallback: number, minimum: number, maximum: number): number {
    const value = this.number(name, fallback, minimum, maximum);
    if (!Number.isInteger(value))
      throw new ConfigError(`${name} must be a whole number, not "${value}"`);
    return value;
  }

  /** An amount in mebibytes, in bytes. */
  mebibytes(name: string, fallback: number): number {
    return Math.ceil(this.number(name, fallback, 0.001, 1_000_000_000) * 1024 ** 2);
  }

  /** A period in days, in milliseconds. */
  days(name: string, fallback: number): number {
    if (this.text(name) === "forever") return forever;
    const days = this.number(name, fallback, 0, 36_500);
    // Zero and typing errors like 0.0 would remove everything at once.
    if (days <= 0) throw new ConfigError(`${name} must be a number of days over 0, or "forever"`);
    return days * day;
  }

  word<const T extends readonly string[]>(name: string, words: T): T[number] | undefined {
    const text = this.text(name);
    if (text !== undefined && !words.includes(text))
      throw new ConfigError(`${name} must be one of ${words.join(", ")}, not "${text}"`);
    return text;
  }

  httpUrl(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const url = URL.parse(text);
    if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
      throw new ConfigError(`${name} must be an http or https address, not "${text}"`);
    return text.replace(/\/+$/, "");
  }

  /** The path behind `scheme`, such as `sqlite:/var/lib/windlass/windlass.db`. */
  location(name: string, scheme: string, fallback: string): string {
    const text = this.text(name);
    if (text === undefined) return fallback;
    if (!text.startsWith(scheme) || text.length === scheme.length)
      throw new ConfigError(
        `${name} must begin with "${scheme}"; this version knows no other store ("${text.split(":")[0]}:")`,
      );
    return resolve(text.slice(scheme.length).replace(/^\/\/(?=\/)/, ""));
  }

  /** `NAME`, or the content of the file that `NAME_FILE` names, or a systemd credential called NAME. */
  secret(name: string, minimumBytes: number): string | undefined {
    const value = this.text(name) ?? this.#secretFile(name);
    if (value !== undefined && Buffer.byteLength(value) < minimumBytes)
      throw new ConfigError(`${name} must have at least ${minimumBytes} bytes`);
    return value;
  }

  /** Secrets separated by commas, or one in each line of a file. */
  secrets(name: string, minimumBytes: number): string[] {
    const inline = this.text(name);
    const secrets = inline?.split(",") ?? this.#secretFile(name)?.split("\n") ?? [];
    const given = secrets.flatMap((secret) => secret.trim() || []);
    if (given.some((secret) => Buffer.byteLength(secret) < minimumBytes))
      throw new ConfigError(`each key in ${name} must have at least ${minimumBytes} bytes`);
    return given;
  }

  #secretFile(name: string): string | undefined {
    const named = this.text(`${name}_FILE`);
    const credentials = this.text("CREDENTIALS_DIRECTORY");
    const file = named ?? (credentials === undefined ? undefined : join(credentials, name));
    if (file === undefined || (named === undefined && !existsSync(file))) return undefined;
    try {
      return readFileSync(file, "utf8").trimEnd();
    } catch (error) {
      throw new ConfigError(`${name}_FILE cannot be read: ${(error as Error).message}`);
    }
  }
}

function isNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return (
    prefix === undefined ||
    (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
  );
}

/** Every setting of every role: a server's environment may hold an agent's settings too. */
const known = new Set(
  `HOST PORT PUBLIC_URL TRUSTED_PROXIES SIGN_IN_ALLOW DATA_DIR DATABASE_URL ARTIFACTS_URL SECRET_KEY SECRET_KEY_FILE SECRET_KEY_OLD SECRET_KEY_OLD_FILE HEARTBEAT_SECONDS OFFLINE_SECONDS
  LOST_SECONDS DRAIN_SECONDS REQUEST_SECONDS RETENTION_LOG_DAYS RETENTION_ARTIFACT_DAYS RETENTION_ARCHIVE_DAYS RETENTION_STATE_DAYS RETENTION_STATE_VERSIONS
  QUOTA_QUEUED_JOBS QUOTA_CONFIGURATIONS QUOTA_ARCHIVE_MIB QUOTA_STATE_MIB QUOTA_LOG_MIB
  URL WORKER_ID WORKER_TOKEN WORKER_TOKEN_FILE REGISTRATION_TOKEN REGISTRATION_TOKEN_FILE WORKER_NAME WORK_DIR STATUS_ADDRESS CONCURRENCY LABELS
  ONCE STOP_SECONDS ISOLATION JOB_UIDS JOB_PATHS CONTAINER_IMAGE CONTAINER_ENGINE TOKEN TOKEN_FILE CONFIG_DIR LOG_LEVEL LOG_FORMAT ENGINE_MIRROR ENGINE_OFFLINE
  GIT_CREDENTIALS GIT_CREDENTIALS_FILE PROVIDER_MIRROR CACHE_GIB CACHE_DAYS FREE_DISK_MIB
  ENGINE_KEYS INIT_GRACE_SECONDS PLAN_GRACE_SECONDS APPLY_GRACE_SECONDS KILL_GRACE_SECONDS LOG_LIMIT_MIB DEBUG_LOG_LIMIT_MIB PROVE`
    .split(/\s+/)
    .map((name) => `WINDLASS_${name}`),
);

function unknownSettings(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith("WINDLASS_") && !known.has(name))
    .map((name) => `${name} is not a setting of Windlass and is ignored`);
}
