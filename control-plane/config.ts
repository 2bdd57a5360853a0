/**
 * Reads the control plane's settings; no other file of the control plane reads the environment.
 * common/settings/server.ts declares them, and docs/settings.md, "The control plane", describes
 * them. Rules that involve several settings are here.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import type { LogSettings } from "../common/log.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import { settingsReader } from "../common/settings/read.ts";
import { serverSettings } from "../common/settings/server.ts";
import { expected } from "../common/settings/setting.ts";
import { unknownSettings } from "../common/settings/unknown.ts";
import { parseS3Address, type S3Place } from "./blobs/s3-place.ts";
import type { Quotas } from "./domain/quotas.ts";
import type { Retention } from "./domain/retention.ts";
import { signInGroupLimit, signInRule, type SignInRule } from "./domain/sign-in-allow.ts";
import { providerNames, type ProviderName, type Providers } from "./domain/providers.ts";

export interface ServerConfig extends LogSettings {
  readonly host: string;
  readonly port: number;
  /**
   * The address at which users and runners reach the server; undefined: derived from the address on
   * which it listens.
   */
  readonly publicUrl: string | undefined;
  readonly trustedProxies: readonly string[];
  readonly dataDirectory: string;
  /** The SQLite file; not used with `postgres`. */
  readonly databaseFile: string;
  /** The PostgreSQL database; undefined: SQLite. */
  readonly postgres:
    | {
        readonly url: string;
        /** With the role that migrates; undefined: that of `url`. */
        readonly ownerUrl: string | undefined;
        readonly connections: number;
      }
    | undefined;
  /** The directory of blobs; not used with `s3`. */
  readonly artifactsDirectory: string;
  /** The bucket of blobs; undefined: the directory. */
  readonly s3: S3Place | undefined;
  /** From the settings; undefined: generated at the first start and kept in the data directory. */
  readonly jwtSecret: string | undefined;
  readonly secretKey: string | undefined;
  /** Keys that sealed data before `secretKey`, until `windlass server rotate-key` has run. */
  readonly olderSecretKeys: readonly string[];
  readonly releaseSecret: string | undefined;
  readonly providers: Providers;
  readonly signInAllow: readonly SignInRule[];
  readonly teamCreators: readonly SignInRule[];
  readonly heartbeatSeconds: number;
  readonly offlineSeconds: number;
  readonly lostSeconds: number;
  /** How long running requests may take after a stop, before their connections are closed. */
  readonly drainSeconds: number;
  readonly retention: Retention;
  readonly quotas: Quotas;
  /**
   * How long the headers of a request, and a JSON body, may take to arrive. A client that reads
   * nothing of a response for as long is disconnected.
   */
  readonly requestSeconds: number;
  /** How long after the end of its job a log is moved out of the database. */
  readonly logArchiveSeconds: number;
  /** How many event streams a user may have open at the same time. */
  readonly streamsPerPerson: number;
  /** Warnings for the log, such as a misspelt setting. */
  readonly warnings: readonly string[];
}

type ReadServerSetting = ReturnType<typeof settingsReader<typeof serverSettings>>;

/** Reads the settings from `environment`. Throws `ConfigError`. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): ServerConfig {
  const read = settingsReader(serverSettings, environment);
  const providers = Object.fromEntries(providerNames.flatMap((name) => providerOf(read, name)));
  const signInAllow = signInAllowOf(read("WINDLASS_SIGN_IN_ALLOW"));
  const dataDirectory = resolve(read("WINDLASS_DATA_DIR") ?? defaultDataDirectory(environment));
  const database = databaseOf("WINDLASS_DATABASE_URL", read("WINDLASS_DATABASE_URL"));
  const owner = databaseOf("WINDLASS_DATABASE_OWNER_URL", read("WINDLASS_DATABASE_OWNER_URL"));
  const artifacts = artifactsOf(read);
  return {
    host: read("WINDLASS_HOST"),
    port: read("WINDLASS_PORT"),
    publicUrl: read("WINDLASS_PUBLIC_URL"),
    trustedProxies: networksOf(read("WINDLASS_TRUSTED_PROXIES")),
    dataDirectory,
    databaseFile: database.file ?? join(dataDirectory, "windlass.db"),
    postgres:
      database.url === undefined
        ? undefined
        : {
            url: database.url,
            ownerUrl: owner.url,
            connections: read("WINDLASS_DATABASE_CONNECTIONS"),
          },
    artifactsDirectory: artifacts.directory ?? join(dataDirectory, "blobs"),
    s3: artifacts.s3,
    jwtSecret: read("CLI_JWT_SECRET"),
    secretKey: read("WINDLASS_SECRET_KEY"),
    olderSecretKeys: read("WINDLASS_SECRET_KEY_OLD"),
    releaseSecret: read("RELEASE_API_SECRET"),
    providers,
    signInAllow,
    teamCreators: teamCreatorsOf(read("WINDLASS_TEAM_CREATORS")),
    heartbeatSeconds: read("WINDLASS_HEARTBEAT_SECONDS"),
    offlineSeconds: read("WINDLASS_OFFLINE_SECONDS"),
    lostSeconds: read("WINDLASS_LOST_SECONDS"),
    requestSeconds: read("WINDLASS_REQUEST_SECONDS"),
    logArchiveSeconds: read("WINDLASS_LOG_ARCHIVE_SECONDS"),
    streamsPerPerson: read("WINDLASS_STREAMS_PER_PERSON"),
    drainSeconds: read("WINDLASS_DRAIN_SECONDS"),
    retention: {
      logs: read("WINDLASS_RETENTION_LOG_DAYS"),
      artifacts: read("WINDLASS_RETENTION_ARTIFACT_DAYS"),
      archives: read("WINDLASS_RETENTION_ARCHIVE_DAYS"),
      states: read("WINDLASS_RETENTION_STATE_DAYS"),
      stateVersions: read("WINDLASS_RETENTION_STATE_VERSIONS"),
    },
    quotas: {
      queuedJobs: read("WINDLASS_QUOTA_QUEUED_JOBS"),
      configurations: read("WINDLASS_QUOTA_CONFIGURATIONS"),
      variableSets: read("WINDLASS_QUOTA_VARIABLE_SETS"),
      archiveBytes: read("WINDLASS_QUOTA_ARCHIVE_MIB"),
      stateBytes: read("WINDLASS_QUOTA_STATE_MIB"),
      logBytes: read("WINDLASS_QUOTA_LOG_MIB"),
    },
    logLevel: read("WINDLASS_LOG_LEVEL"),
    logFormat: read("WINDLASS_LOG_FORMAT") ?? (process.stderr.isTTY ? "pretty" : "json"),
    warnings: [
      ...unknownSettings("server", environment),
      ...signInWarnings(providers, signInAllow),
    ],
  };
}

/** Where a server's data is. Another server's is never meant by the environment. */
const places = ["WINDLASS_DATABASE_URL", "WINDLASS_DATABASE_OWNER_URL", "WINDLASS_ARTIFACTS_URL"];

/**
 * Reads the settings of another server: `place` is its data directory, or a file with a NAME=value
 * per line. All but places come from the environment if they are not there.
 */
export function readConfigOf(place: string): ServerConfig {
  const stat = statSync(place, { throwIfNoEntry: false });
  if (stat === undefined)
    throw new ConfigError(`${place} does not exist: name a data directory or a file with settings`);
  const given = stat.isDirectory()
    ? { WINDLASS_DATA_DIR: place }
    : parseEnv(readFileSync(place, "utf8"));
  const own = new Set([...places, ...Object.keys(given).map(withoutFile)]);
  const inherited = Object.entries(process.env).filter(([name]) => !own.has(withoutFile(name)));
  return readConfig({ ...Object.fromEntries(inherited), ...given });
}

/** The setting that NAME_FILE is another form of. */
const withoutFile = (name: string): string => name.replace(/_FILE$/, "");

/** A SQLite file or the address of a PostgreSQL database. A message never repeats a password. */
function databaseOf(
  name: "WINDLASS_DATABASE_URL" | "WINDLASS_DATABASE_OWNER_URL",
  text: string | undefined,
): { file?: string; url?: string } {
  if (text === undefined) return {};
  const isOwner = name === "WINDLASS_DATABASE_OWNER_URL";
  if (!isOwner && text.startsWith("sqlite:") && text.length > "sqlite:".length)
    return { file: pathBehind("sqlite:", text) };
  if (!/^postgres(ql)?:\/\//.test(text))
    throw new ConfigError(
      `${name} must be ${expected(serverSettings[name])}` +
        (/[@?]/.test(text) ? "" : `, not ${JSON.stringify(text.slice(0, 200))}`),
    );
  if (/^postgres(ql)?:\/\/[^/?]*,/.test(text))
    throw new ConfigError(
      `${name} must name one host: for a failover, give the database an address that follows the primary (docs/postgresql.md#failover), and percent-encode a comma of the password as %2C`,
    );
  const url = URL.parse(text);
  if (url === null || url.pathname.length < 2)
    throw new ConfigError(
      `${name} must be an address such as postgres://user:password@host:5432/name, with special characters of the password percent-encoded`,
    );
  const mode = url.searchParams.get("sslmode");
  // The driver checks the certificate for "require" too, and warns of it: this says the same.
  if (mode === "require") url.searchParams.set("sslmode", "verify-full");
  else if (mode !== null && !["disable", "no-verify", "verify-full"].includes(mode))
    throw new ConfigError(
      `${name} must have an sslmode of disable, no-verify, require or verify-full`,
    );
  return { url: url.href };
}

/** The path of an address such as `file:/srv`, `file:///srv` or `file:srv`. */
const pathBehind = (scheme: string, text: string): string =>
  resolve(text.slice(scheme.length).replace(/^\/\/(?=\/)/, ""));

/** A directory, or a bucket with what its objects are encrypted with. */
function artifactsOf(read: ReadServerSetting): { directory?: string; s3?: S3Place } {
  const text = read("WINDLASS_ARTIFACTS_URL");
  const encryption = read("WINDLASS_S3_ENCRYPTION");
  const kmsKey = read("WINDLASS_S3_KMS_KEY");
  if (text === undefined) return {};
  if (text.startsWith("file:")) return { directory: pathBehind("file:", text) };
  const address = parseS3Address(text);
  if (address === undefined)
    throw new ConfigError(
      `WINDLASS_ARTIFACTS_URL must be ${expected(serverSettings.WINDLASS_ARTIFACTS_URL)}`,
    );
  if (kmsKey !== undefined && encryption?.startsWith("aws:kms") !== true)
    throw new ConfigError("WINDLASS_S3_KMS_KEY needs WINDLASS_S3_ENCRYPTION=aws:kms");
  return { s3: { ...address, isPathStyle: read("WINDLASS_S3_PATH_STYLE"), encryption, kmsKey } };
}

/** A provider is on when both its id and its secret are set; one without the other is a mistake. */
function providerOf(read: ReadServerSetting, provider: ProviderName) {
  const name = provider.toUpperCase() as Uppercase<ProviderName>;
  const clientId = read(`${name}_CLIENT_ID`);
  const clientSecret = read(`${name}_CLIENT_SECRET`);
  const baseUrl = read(`${name}_BASE_URL`);
  if (clientId === undefined && clientSecret === undefined) return [];
  if (clientId === undefined || clientSecret === undefined)
    throw new ConfigError(
      `${name}_CLIENT_${clientId === undefined ? "ID" : "SECRET"} must be set too: sign-in with a provider needs both`,
    );
  return [[provider, { clientId, clientSecret, baseUrl, timeoutMilliseconds: 10_000 }] as const];
}

function signInAllowOf(entries: readonly string[]): SignInRule[] {
  const rules = entries.map((text) => {
    const rule = signInRule(text);
    if (rule === undefined)
      throw new ConfigError(
        `WINDLASS_SIGN_IN_ALLOW must be ${expected(serverSettings.WINDLASS_SIGN_IN_ALLOW)}, not "${text}"`,
      );
    return rule;
  });
  if (rules.filter(({ kind }) => kind === "group").length > signInGroupLimit)
    throw new ConfigError(
      `WINDLASS_SIGN_IN_ALLOW must name at most ${signInGroupLimit} organisations and groups`,
    );
  return rules;
}

function teamCreatorsOf(entries: readonly string[]): SignInRule[] {
  return entries.map((text) => {
    const rule = signInRule(text);
    if (rule !== undefined && rule.kind !== "group") return rule;
    throw new ConfigError(
      `WINDLASS_TEAM_CREATORS must be ${expected(serverSettings.WINDLASS_TEAM_CREATORS)}, not "${text}"`,
    );
  });
}

/** Warns at the start about a list that allows no one, or an entry that cannot match. */
function signInWarnings(providers: Providers, rules: readonly SignInRule[]): string[] {
  const isOn = Object.keys(providers).length > 0;
  const groups = rules.filter((rule) => rule.kind === "group");
  const off = new Set(groups.map(({ provider }) => provider).filter((name) => !providers[name]));
  return [
    ...(isOn && rules.length === 0
      ? [
          "WINDLASS_SIGN_IN_ALLOW is empty: only people who were invited by a link (windlass server login-link) can sign in with a provider",
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

/** Returns addresses and networks such as 10.0.0.0/8. */
function networksOf(entries: readonly string[]): readonly string[] {
  const wrong = entries.find((entry) => !isNetwork(entry));
  if (wrong === undefined) return entries;
  throw new ConfigError(
    `WINDLASS_TRUSTED_PROXIES must be ${expected(serverSettings.WINDLASS_TRUSTED_PROXIES)}, not "${wrong}"`,
  );
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
