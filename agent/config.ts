/** The agent's settings: the only file here that reads the environment. Names and defaults: decisions.md, "Running it". */
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { Type, type Static } from "typebox";
import { Errors, Convert, Default } from "typebox/value";
import { retryLimits, type BackoffLimits } from "./backoff.ts";
import {
  addressOf,
  defaultWorkDir,
  listOf,
  networkOf,
  Seconds,
  unknownNames,
  type Address,
} from "./config-values.ts";
import { cloudSettings, type CloudSettings } from "./job/cloud-providers.ts";
import { readGitAccess, type GitAccess } from "./job/git-access.ts";
import type { CacheLimits } from "./job/shared-cache.ts";
import { Labels, Name, OneOf } from "../protocol/fields.ts";
import type { Level } from "./job/isolation/isolation.ts";
import { isolationConfig, type IsolationConfig } from "./job/isolation/settings.ts";

/** One entry per setting, under the name that the environment has for it. */
const Settings = Type.Object({
  WINDLASS_URL: Type.String({ pattern: "^https?://[^\\s/?#@]+(/[^\\s?#]*)?$" }),
  WINDLASS_WORKER_ID: Type.Optional(Type.String({ pattern: "^[0-9A-Za-z-]{1,64}$" })),
  WINDLASS_WORKER_TOKEN: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
  WINDLASS_REGISTRATION_TOKEN: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
  WINDLASS_WORKER_NAME: Type.Optional(Name),
  WINDLASS_WORK_DIR: Type.Optional(Type.String({ minLength: 1 })),
  WINDLASS_CONCURRENCY: Type.Integer({ default: 1, minimum: 1, maximum: 100 }),
  WINDLASS_LABELS: Type.Array(Labels.items, { ...Labels, default: [] }),
  WINDLASS_ONCE: Type.Boolean({ default: false }),
  WINDLASS_ISOLATION: Type.Optional(OneOf(["process", "uid", "bubblewrap", "container"])),
  /** Users for jobs, `first-last`. The usual ones stand between those of containers and 2³¹, where no distribution has any. */
  WINDLASS_JOB_UIDS: Type.String({ default: "1880000000-1896777215", pattern: "^\\d+-\\d+$" }),
  WINDLASS_JOB_PATHS: Type.Array(Type.String({ pattern: "^/" }), { default: [], maxItems: 100 }),
  WINDLASS_CONTAINER_ENGINE: Type.Unsafe<"docker" | "podman">({
    ...OneOf(["docker", "podman"]),
    default: "docker",
  }),
  WINDLASS_CONTAINER_IMAGE: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9]\\S{0,254}$" })),
  WINDLASS_HEARTBEAT_SECONDS: Seconds(30),
  /**
   * From the first SIGINT to the second, by what terraform is doing; and from the second to SIGKILL. Together they leave a minute of the
   * fifteen after which the server gives the state of a cancelled job to the next one, for the log and the state that is left.
   */
  WINDLASS_INIT_GRACE_SECONDS: Seconds(5, 780),
  WINDLASS_PLAN_GRACE_SECONDS: Seconds(30, 780),
  WINDLASS_APPLY_GRACE_SECONDS: Seconds(600, 780),
  WINDLASS_KILL_GRACE_SECONDS: Seconds(10, 60),
  /** The longest pause between two tries of a call that the control plane does not answer. */
  WINDLASS_RETRY_SECONDS: Seconds(30),
  WINDLASS_LOG_LIMIT_MIB: Type.Number({ default: 256, minimum: 0.001, maximum: 1_000_000 }),
  WINDLASS_GIT_CREDENTIALS: Type.Optional(Type.String({ minLength: 1, maxLength: 100_000 })),
  WINDLASS_ENGINE_MIRROR: Type.Optional(Type.String({ pattern: "^https?://\\S+$" })),
  WINDLASS_ENGINE_OFFLINE: Type.Boolean({ default: false }),
  WINDLASS_PROVIDER_MIRROR: Type.Optional(Type.String({ pattern: "^(/|https://)[^\\s$%]+$" })),
  /** Engines and provider packages that are kept for later jobs: together, and since their last use. */
  WINDLASS_CACHE_GIB: Type.Number({ default: 10, minimum: 0, maximum: 100_000 }),
  WINDLASS_CACHE_DAYS: Type.Number({ default: 90, minimum: 0, maximum: 36_500 }),
  /** With less room than this no job is taken. */
  WINDLASS_FREE_DISK_MIB: Type.Number({ default: 1024, minimum: 0, maximum: 1e9 }),
  /** A file with armored OpenPGP keys, for releases that an organisation signs itself. */
  WINDLASS_ENGINE_KEYS: Type.Optional(Type.String({ minLength: 1 })),
  /** Where `/healthz` and `/metrics` are served on this machine. */
  WINDLASS_STATUS_ADDRESS: Type.Optional(
    Type.String({ pattern: "^(\\[[0-9a-f:]+\\]|[^\\s:/]+):\\d{1,5}$" }),
  ),
  WINDLASS_LOG_LEVEL: Type.Unsafe<LogLevel>({
    ...OneOf(["trace", "debug", "info", "warn", "error", "silent"]),
    default: "info",
  }),
  WINDLASS_LOG_FORMAT: Type.Optional(OneOf(["pretty", "json"])),
});
type Settings = Static<typeof Settings>;
type SettingName = keyof Settings;
type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

/** Comma-separated. */
const listNames: ReadonlySet<string> = new Set(["WINDLASS_LABELS", "WINDLASS_JOB_PATHS"]);

/** May also stand in a file: `NAME_FILE`, or a systemd credential of the setting's name. */
const secretNames: readonly SettingName[] = [
  "WINDLASS_WORKER_TOKEN",
  "WINDLASS_REGISTRATION_TOKEN",
  "WINDLASS_GIT_CREDENTIALS",
];

export interface AgentConfig extends IsolationConfig {
  readonly url: string;
  readonly workerId: string | undefined;
  readonly workerToken: string | undefined;
  readonly registrationToken: string | undefined;
  readonly workerName: string;
  readonly workDir: string;
  readonly concurrency: number;
  readonly labels: readonly string[];
  readonly once: boolean;
  /** The level that is asked for; undefined: the strongest that works. */
  readonly isolation: Level | undefined;
  readonly heartbeatSeconds: number;
  /** In milliseconds. */
  readonly grace: Readonly<Record<"init" | "plan" | "apply" | "kill", number>>;
  readonly retry: BackoffLimits;
  readonly logLimitBytes: number;
  readonly gitAccess: readonly GitAccess[];
  readonly engineMirror: string | undefined;
  readonly engineOffline: boolean;
  readonly providerMirror: string | undefined;
  readonly cache: CacheLimits;
  readonly freeDiskBytes: number;
  readonly enginePublicKeys: string | undefined;
  /** None: nothing is served. */
  readonly statusAddress: Address | undefined;
  /** What systemd tells its service; both undefined elsewhere. */
  readonly systemd: {
    readonly socket: string | undefined;
    readonly watchdogSeconds: number | undefined;
  };
  readonly logLevel: LogLevel;
  readonly logFormat: "pretty" | "json";
  /** PATH for terraform and git. */
  readonly path: string;
  readonly network: Readonly<Record<string, string>>;
  readonly cloud: CloudSettings;
  readonly warnings: readonly string[];
}

/** A setting is wrong; the message names it and says what it should be. The process ends with exit code 78. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Reads the settings. Throws `ConfigError`. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): AgentConfig {
  const settings = checked(collect(environment));
  const seconds = (name: SettingName): number => Number(settings[name]) * 1000;
  if (
    (settings.WINDLASS_WORKER_ID === undefined) !==
    (settings.WINDLASS_WORKER_TOKEN === undefined)
  ) {
    throw new ConfigError(
      "WINDLASS_WORKER_ID and WINDLASS_WORKER_TOKEN are set together or not at all",
    );
  }
  const isolation = isolationConfig(settings, environment);
  if (!isolation) throw new ConfigError("WINDLASS_JOB_UIDS is no range of users, like 70000-70099");
  return {
    url: settings.WINDLASS_URL.replace(/\/+$/, ""),
    workerId: settings.WINDLASS_WORKER_ID,
    workerToken: settings.WINDLASS_WORKER_TOKEN,
    registrationToken: settings.WINDLASS_REGISTRATION_TOKEN,
    workerName: settings.WINDLASS_WORKER_NAME ?? hostname().slice(0, 100),
    workDir: resolve(settings.WINDLASS_WORK_DIR ?? defaultWorkDir(environment)),
    concurrency: settings.WINDLASS_CONCURRENCY,
    labels: settings.WINDLASS_LABELS,
    once: settings.WINDLASS_ONCE,
    isolation: settings.WINDLASS_ISOLATION,
    ...isolation,
    heartbeatSeconds: settings.WINDLASS_HEARTBEAT_SECONDS,
    grace: {
      init: seconds("WINDLASS_INIT_GRACE_SECONDS"),
      plan: seconds("WINDLASS_PLAN_GRACE_SECONDS"),
      apply: seconds("WINDLASS_APPLY_GRACE_SECONDS"),
      kill: seconds("WINDLASS_KILL_GRACE_SECONDS"),
    },
    retry: retryLimits(seconds("WINDLASS_RETRY_SECONDS")),
    logLimitBytes: Math.round(settings.WINDLASS_LOG_LIMIT_MIB * 1024 * 1024),
    gitAccess: gitAccessOf(settings.WINDLASS_GIT_CREDENTIALS),
    engineMirror: settings.WINDLASS_ENGINE_MIRROR,
    engineOffline: settings.WINDLASS_ENGINE_OFFLINE,
    providerMirror: settings.WINDLASS_PROVIDER_MIRROR,
    cache: {
      bytes: Math.round(settings.WINDLASS_CACHE_GIB * 1024 ** 3),
      days: settings.WINDLASS_CACHE_DAYS,
    },
    freeDiskBytes: Math.round(settings.WINDLASS_FREE_DISK_MIB * 1024 ** 2),
    enginePublicKeys: fileOf("WINDLASS_ENGINE_KEYS", settings.WINDLASS_ENGINE_KEYS),
    statusAddress: addressOf(settings.WINDLASS_STATUS_ADDRESS),
    systemd: {
      socket: environment["NOTIFY_SOCKET"],
      watchdogSeconds: Number(environment["WATCHDOG_USEC"] ?? 0) / 1_000_000 || undefined,
    },
    logLevel: settings.WINDLASS_LOG_LEVEL,
    logFormat: settings.WINDLASS_LOG_FORMAT ?? (process.stderr.isTTY ? "pretty" : "json"),
    path: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
    network: networkOf(environment),
    cloud: cloudSettings(environment),
    warnings: unknownNames(environment, [
      ...Object.keys(Settings.properties),
      ...secretNames.map((name) => `${name}_FILE`),
    ]),
  };
}

/** The raw values: an empty one counts as not set. */
function collect(environment: NodeJS.ProcessEnv): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(Settings.properties) as SettingName[]) {
    const value =
      environment[name] || (secretNames.includes(name) ? secret(environment, name) : "");
    if (value) values[name] = listNames.has(name) ? listOf(value) : value;
  }
  return values;
}

function secret(environment: NodeJS.ProcessEnv, name: SettingName): string | undefined {
  const credentials = environment["CREDENTIALS_DIRECTORY"];
  const credential = credentials && join(credentials, name);
  const file =
    environment[`${name}_FILE`] || (credential && existsSync(credential) ? credential : "");
  return fileOf(`${name}_FILE`, file || undefined)?.trim();
}

function fileOf(name: string, path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError(`${name} cannot be read: ${(error as Error).message}`);
  }
}

function checked(values: Record<string, unknown>): Settings {
  if (values["WINDLASS_URL"] === undefined) {
    throw new ConfigError(
      "WINDLASS_URL is not set: the address of the control plane, like https://windlass.example.com",
    );
  }
  const settings = Default(Settings, Convert(Settings, values));
  const [fault] = Errors(Settings, settings);
  if (!fault) return settings as Settings;
  const name = fault.instancePath.split("/")[1] ?? "a setting";
  // A wrong secret is not repeated, least of all in a log.
  const given = (secretNames as readonly string[]).includes(name)
    ? ""
    : ` (it is "${String(values[name])}")`;
  throw new ConfigError(`${name} ${fault.message}${given}`);
}

function gitAccessOf(text = ""): GitAccess[] {
  try {
    return readGitAccess(text);
  } catch (error) {
    throw new ConfigError(`WINDLASS_GIT_CREDENTIALS: ${(error as Error).message}`);
  }
}
