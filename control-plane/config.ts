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
import { networkOf, proxiesOf, type Network } from "../common/network.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import { settingsReader } from "../common/settings/read.ts";
import { serverSettings } from "../common/settings/server.ts";
import { expected } from "../common/settings/setting.ts";
import { limitsIn } from "../common/settings/test-limits.ts";
import { unknownSettings } from "../common/settings/unknown.ts";
import { signInWarnings, unusedWarnings } from "./config-warnings.ts";
import { mailSettings } from "./mail-settings.ts";
import { databaseAddress, pathBehind } from "./storage-addresses.ts";
import { parseS3Address, type S3Place } from "./blobs/s3-place.ts";
import type { MailSettings } from "./outbound/mail.ts";
import type { Quotas } from "./domain/quotas.ts";
import type { Retention } from "./domain/retention.ts";
import { signInGroupLimit, signInRule, type SignInRule } from "./domain/sign-in-allow.ts";
import { hour, minute } from "../common/units.ts";
import type { OidcPeriods, Providers } from "./domain/providers.ts";
import { providersOf, type ReadServerSetting } from "./provider-settings.ts";

export interface ServerConfig extends LogSettings {
  readonly host: string;
  readonly port: number;
  /** Undefined: derived from the address on which the server listens. */
  readonly publicUrl: string | undefined;
  /** Of the tokens for jobs; undefined: the public address. */
  readonly issuerUrl: string | undefined;
  readonly trustedProxies: readonly string[];
  /** Places that are not public and that users may name. */
  readonly outboundAllow: readonly string[];
  readonly network: Network;
  /** Where mail goes out; undefined: none is sent. */
  readonly mail: MailSettings | undefined;
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
  readonly oidc: OidcPeriods;
  readonly teamCreators: readonly SignInRule[];
  readonly operators: readonly SignInRule[];
  readonly heartbeatSeconds: number;
  readonly offlineSeconds: number;
  readonly lostSeconds: number;
  /** How long running requests may take after a stop, before their connections are closed. */
  readonly drainSeconds: number;
  readonly retention: Retention;
  readonly quotas: Quotas;
  /** Time for the headers, for a JSON body, and for a client to read part of a response. */
  readonly requestSeconds: number;
  /** How long after the end of its job a log is moved out of the database. */
  readonly logArchiveSeconds: number;
  /** How soon a server sees that the time to look at a code host has come. */
  readonly codeHostSeconds: number;
  /** How long a job waits until it is of the first class of the queue. */
  readonly queueLiftSeconds: number;
  /** How many event streams a user may have open at the same time. */
  readonly streamsPerPerson: number;
  /** systemd's socket for messages of the service. */
  readonly notifySocket: string | undefined;
  /** Warnings for the log, such as a misspelt setting. */
  readonly warnings: readonly string[];
}

/** Constants except in tests. */
const limits = {
  /** Most lines that come late come within minutes, and a fresh log is read more than an old one. */
  logArchiveSeconds: 600,
  codeHostSeconds: 1,
  queueLiftSeconds: 1800,
  /** Each open page of a job and each client that follows a log has one. */
  streamsPerPerson: 50,
  /** A state that is seldom deployed keeps what it can be rolled back to, whatever its age. */
  stateVersions: 100,
};

/** With a setting of 0.1.0, the server does not start: it might remove what the setting kept. */
const removedSettings = {
  WINDLASS_RETENTION_ARCHIVE_DAYS: "WINDLASS_RETENTION_ARTIFACT_DAYS applies to archives too",
  WINDLASS_RETENTION_STATE_VERSIONS: `the newest ${limits.stateVersions} versions of each state are kept`,
};

/** Reads the settings from `environment`. Throws `ConfigError`. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): ServerConfig {
  const read = settingsReader(serverSettings, environment);
  for (const [name, instead] of Object.entries(removedSettings))
    if (environment[name])
      throw new ConfigError(`${name} is no longer a setting: ${instead}. Remove it`);
  const { stateVersions, ...serverLimits } = limitsIn(environment, limits);
  const providers = providersOf(read);
  const signInAllow = signInAllowOf(read("WINDLASS_SIGN_IN_ALLOW"));
  const dataDirectory = resolve(read("WINDLASS_DATA_DIR") ?? defaultDataDirectory(environment));
  const database = databaseOf(read, environment);
  const artifacts = artifactsOf(read);
  const mail = mailSettings(read("WINDLASS_SMTP_URL"), read("WINDLASS_MAIL_FROM"));
  return {
    host: read("WINDLASS_HOST"),
    port: read("WINDLASS_PORT"),
    publicUrl: read("WINDLASS_PUBLIC_URL"),
    issuerUrl: read("WINDLASS_ISSUER_URL"),
    trustedProxies: networksOf(read("WINDLASS_TRUSTED_PROXIES")),
    outboundAllow: read("WINDLASS_OUTBOUND_ALLOW") ?? [],
    network: readNetwork(environment),
    mail: mail.mail,
    dataDirectory,
    databaseFile: database.file ?? join(dataDirectory, "windlass.db"),
    postgres: database.postgres,
    artifactsDirectory: artifacts.directory ?? join(dataDirectory, "blobs"),
    s3: artifacts.s3,
    jwtSecret: read("CLI_JWT_SECRET"),
    secretKey: read("WINDLASS_SECRET_KEY"),
    olderSecretKeys: read("WINDLASS_SECRET_KEY_OLD"),
    releaseSecret: read("RELEASE_API_SECRET"),
    providers: providers.on,
    signInAllow,
    oidc: {
      refresh: read("WINDLASS_OIDC_REFRESH_MINUTES") * minute,
      unanswered: read("WINDLASS_OIDC_HOURS") * hour,
    },
    teamCreators: addressesOf("WINDLASS_TEAM_CREATORS", read("WINDLASS_TEAM_CREATORS"), [
      "address",
      "domain",
      "everyone",
    ]),
    operators: addressesOf("WINDLASS_OPERATORS", read("WINDLASS_OPERATORS"), ["address"]),
    heartbeatSeconds: read("WINDLASS_HEARTBEAT_SECONDS"),
    offlineSeconds: read("WINDLASS_OFFLINE_SECONDS"),
    lostSeconds: read("WINDLASS_LOST_SECONDS"),
    requestSeconds: read("WINDLASS_REQUEST_SECONDS"),
    ...serverLimits,
    drainSeconds: read("WINDLASS_DRAIN_SECONDS"),
    notifySocket: environment["NOTIFY_SOCKET"],
    retention: {
      logs: read("WINDLASS_RETENTION_LOG_DAYS"),
      artifacts: read("WINDLASS_RETENTION_ARTIFACT_DAYS"),
      states: read("WINDLASS_RETENTION_STATE_DAYS"),
      stateVersions,
    },
    quotas: {
      queuedJobs: read("WINDLASS_QUOTA_QUEUED_JOBS"),
      configurations: read("WINDLASS_QUOTA_CONFIGURATIONS"),
      variableSets: read("WINDLASS_QUOTA_VARIABLE_SETS"),
      workers: read("WINDLASS_QUOTA_WORKERS"),
      zones: read("WINDLASS_QUOTA_ZONES"),
      identities: read("WINDLASS_QUOTA_IDENTITIES"),
      teams: read("WINDLASS_QUOTA_TEAMS"),
      archiveBytes: read("WINDLASS_QUOTA_ARCHIVE_MIB"),
      stateBytes: read("WINDLASS_QUOTA_STATE_MIB"),
      logBytes: read("WINDLASS_QUOTA_LOG_MIB"),
    },
    logLevel: read("WINDLASS_LOG_LEVEL"),
    logFormat: read("WINDLASS_LOG_FORMAT") ?? (process.stderr.isTTY ? "pretty" : "json"),
    warnings: [
      ...unknownSettings("server", environment),
      ...database.warnings,
      ...artifacts.warnings,
      ...providers.warnings,
      ...mail.warnings,
      ...signInWarnings(providers.on, signInAllow),
    ],
  };
}

/** Throws `ConfigError` for a proxy that is not an address. */
export function readNetwork(environment: NodeJS.ProcessEnv = process.env): Network {
  const network = networkOf(environment);
  proxiesOf(network);
  return network;
}

/** Where a server's data is. Another server's is never meant by the environment. */
const places = ["WINDLASS_DATABASE_URL", "WINDLASS_DATABASE_OWNER_URL", "WINDLASS_ARTIFACTS_URL"];

/** `place`: a data directory or a file of NAME=value lines; only places are not inherited. */
export function readConfigOf(place: string): ServerConfig {
  const given = settingsOf(place);
  const own = new Set([...places, ...Object.keys(given).map(withoutFile)]);
  const inherited = Object.entries(process.env).filter(([name]) => !own.has(withoutFile(name)));
  return readConfig({ ...Object.fromEntries(inherited), ...given });
}

function settingsOf(place: string): NodeJS.Dict<string> {
  const stat = statSync(place, { throwIfNoEntry: false });
  if (stat === undefined)
    throw new ConfigError(`${place} does not exist: name a data directory or a file with settings`);
  if (stat.isDirectory()) return { WINDLASS_DATA_DIR: place };
  return parseEnv(readFileSync(place, "utf8"));
}

/** The AWS SDK reads the environment of this process. */
export function useAwsSettings(from: string, to: string): void {
  const [before, after] = [settingsOf(from), settingsOf(to)];
  const all = { ...before, ...after };
  for (const name of Object.keys(all).filter((one) => one.startsWith("AWS_"))) {
    if ((before[name] ?? all[name]) !== all[name])
      throw new ConfigError(
        `${name} differs between ${from} and ${to}: set it to one value, because a move uses one endpoint and one set of credentials for both`,
      );
    process.env[name] = all[name];
  }
}

/** The setting that NAME_FILE is another form of. */
const withoutFile = (name: string): string => name.replace(/_FILE$/, "");

interface Database {
  readonly file?: string;
  readonly postgres?: ServerConfig["postgres"];
  readonly warnings: readonly string[];
}

function databaseOf(read: ReadServerSetting, environment: NodeJS.ProcessEnv): Database {
  const { file, url } = databaseAddress("WINDLASS_DATABASE_URL", read("WINDLASS_DATABASE_URL"));
  const ownerUrl = databaseAddress(
    "WINDLASS_DATABASE_OWNER_URL",
    read("WINDLASS_DATABASE_OWNER_URL"),
  ).url;
  const connections = read("WINDLASS_DATABASE_CONNECTIONS");
  if (url !== undefined) return { postgres: { url, ownerUrl, connections }, warnings: [] };
  const warnings = unusedWarnings(
    "the database is SQLite: set WINDLASS_DATABASE_URL to the address of a PostgreSQL database",
    {
      WINDLASS_DATABASE_OWNER_URL: ownerUrl,
      WINDLASS_DATABASE_CONNECTIONS: environment["WINDLASS_DATABASE_CONNECTIONS"] || undefined,
    },
  );
  return { ...(file === undefined ? {} : { file }), warnings };
}

interface Artifacts {
  readonly directory?: string;
  readonly s3?: S3Place;
  readonly warnings: readonly string[];
}

/** A directory, or a bucket with what its objects are encrypted with. */
function artifactsOf(read: ReadServerSetting): Artifacts {
  const text = read("WINDLASS_ARTIFACTS_URL");
  const isPathStyle = read("WINDLASS_S3_PATH_STYLE");
  const encryption = read("WINDLASS_S3_ENCRYPTION");
  const kmsKey = read("WINDLASS_S3_KMS_KEY");
  if (text === undefined || text.startsWith("file:")) {
    const warnings = unusedWarnings(
      "files are kept in a directory: set WINDLASS_ARTIFACTS_URL to the address of a bucket",
      {
        WINDLASS_S3_PATH_STYLE: isPathStyle,
        WINDLASS_S3_ENCRYPTION: encryption,
        WINDLASS_S3_KMS_KEY: kmsKey,
      },
    );
    return { ...(text === undefined ? {} : { directory: pathBehind("file:", text) }), warnings };
  }
  const address = parseS3Address(text);
  if (kmsKey !== undefined && encryption?.startsWith("aws:kms") !== true)
    throw new ConfigError("WINDLASS_S3_KMS_KEY needs WINDLASS_S3_ENCRYPTION=aws:kms");
  return { s3: { ...address, isPathStyle, encryption, kmsKey }, warnings: [] };
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

function addressesOf(
  name: "WINDLASS_TEAM_CREATORS" | "WINDLASS_OPERATORS",
  entries: readonly string[],
  kinds: readonly SignInRule["kind"][],
): SignInRule[] {
  return entries.map((text) => {
    const rule = signInRule(text);
    if (rule !== undefined && kinds.includes(rule.kind)) return rule;
    throw new ConfigError(`${name} must be ${expected(serverSettings[name])}, not "${text}"`);
  });
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
