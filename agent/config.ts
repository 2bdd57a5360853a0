/** The agent's settings: the only file here that reads the environment. Names and defaults: docs/settings.md, "The agent". */
import { hostname } from "node:os";
import { resolve } from "node:path";
import { retryLimits, type BackoffLimits } from "../common/backoff.ts";
import { ConfigError, ConfigReader, MissingSettingError, type Form } from "./config-reader.ts";
import {
  addressOf,
  defaultWorkDir,
  isPlainHttp,
  networkOf,
  type Address,
} from "./config-values.ts";
import { cloudSettings, type CloudSettings } from "./job/credentials/cloud-providers.ts";
import { readGitAccess, type GitAccess } from "./job/source/git-access.ts";
import type { Level } from "./job/isolation/isolation.ts";
import { isolationConfig, type IsolationConfig } from "./job/isolation/settings.ts";
import type { CacheLimits } from "./job/shared-cache.ts";

const logLevels = ["trace", "debug", "info", "warn", "error", "silent"] as const;
const levels = ["process", "uid", "bubblewrap", "container"] as const satisfies readonly Level[];

const forms = {
  url: {
    pattern: /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
    said: "an address like https://windlass.example.com",
  },
  mirror: { pattern: /^https?:\/\/\S+$/, said: "an http or https address" },
  providerMirror: {
    pattern: /^(\/|https:\/\/)[^\s$%]+$/,
    said: "a folder from the root on, or an https address",
  },
  workerId: { pattern: /^[0-9A-Za-z-]{1,64}$/, said: "the id of a worker" },
  name: {
    pattern: /^\P{Cc}+$/u,
    most: 100,
    said: "a name of up to 100 characters",
  },
  label: { pattern: /^[A-Za-z0-9][A-Za-z0-9._/:=-]*$/, most: 63, said: "labels like eu-west" },
  users: { pattern: /^\d+-\d+$/, said: "a range of users like 70000-70099" },
  path: { pattern: /^\//, said: "paths from the root on" },
  image: { pattern: /^[A-Za-z0-9]\S{0,254}$/, said: "the name of an image" },
  listen: {
    pattern: /^(\[[0-9a-f:]+\]|[^\s:/]+):\d{1,5}$/,
    said: "an address of this machine like 127.0.0.1:9185",
  },
} satisfies Record<string, Form>;

export interface AgentConfig extends IsolationConfig {
  readonly url: string;
  /** Whether `http:` is allowed to other hosts than this one, for the control plane and for git. */
  readonly allowHttp: boolean;
  readonly workerId: string | undefined;
  readonly workerToken: string | undefined;
  readonly registrationToken: string | undefined;
  readonly workerName: string;
  readonly workDir: string;
  readonly concurrency: number;
  readonly labels: readonly string[];
  readonly once: boolean;
  /** From the first SIGTERM until running jobs are stopped; Infinity: they may end. */
  readonly stopSeconds: number;
  /** The level that is asked for; undefined: the strongest that works. */
  readonly isolation: Level | undefined;
  readonly heartbeatSeconds: number;
  /** In milliseconds. */
  readonly grace: Readonly<Record<"init" | "plan" | "apply" | "kill", number>>;
  readonly retry: BackoffLimits;
  readonly logLimitBytes: number;
  readonly debugLogLimitBytes: number;
  readonly gitAccess: readonly GitAccess[];
  readonly engineMirror: string | undefined;
  readonly engineOffline: boolean;
  readonly providerMirror: string | undefined;
  readonly cache: CacheLimits;
  readonly sourceBytes: number;
  readonly freeDiskBytes: number;
  readonly enginePublicKeys: string | undefined;
  /** None: nothing is served. */
  readonly statusAddress: Address | undefined;
  /** What systemd tells its service; undefined and false elsewhere. */
  readonly systemd: {
    readonly socket: string | undefined;
    readonly watchdogSeconds: number | undefined;
    readonly isUnit: boolean;
  };
  readonly logLevel: (typeof logLevels)[number];
  readonly logFormat: "pretty" | "json";
  /** PATH for terraform and git. */
  readonly path: string;
  readonly network: Readonly<Record<string, string>>;
  readonly cloud: CloudSettings;
  readonly warnings: readonly string[];
}

/** Reads the settings. Throws `ConfigError`. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): AgentConfig {
  const read = new ConfigReader(environment);
  restoreAwsSecrets(read, environment);
  const url = read.text("WINDLASS_URL", forms.url);
  if (url === undefined)
    throw new MissingSettingError(
      "WINDLASS_URL",
      "the address of the control plane, like https://windlass.example.com",
    );
  const allowHttp = read.flag("WINDLASS_ALLOW_HTTP");
  if (!allowHttp && isPlainHttp(url))
    throw new ConfigError(
      "WINDLASS_URL must be an https address: over http the worker's token and every secret of its jobs are readable on the network. WINDLASS_ALLOW_HTTP=1 permits it",
    );
  const workerId = read.text("WINDLASS_WORKER_ID", forms.workerId);
  const workerToken = read.secret("WINDLASS_WORKER_TOKEN", 1000);
  if ((workerId === undefined) !== (workerToken === undefined))
    throw new ConfigError(
      "WINDLASS_WORKER_ID and WINDLASS_WORKER_TOKEN are set together or not at all",
    );
  /**
   * From the first SIGINT to the second, by what terraform is doing; and from the second to SIGKILL. Together they leave a minute of the
   * fifteen after which the server gives the state of a cancelled job to the next one, for the log and the state that is left.
   */
  const grace = {
    init: read.seconds("WINDLASS_INIT_GRACE_SECONDS", 5, 780) * 1000,
    plan: read.seconds("WINDLASS_PLAN_GRACE_SECONDS", 30, 780) * 1000,
    apply: read.seconds("WINDLASS_APPLY_GRACE_SECONDS", 600, 780) * 1000,
    kill: read.seconds("WINDLASS_KILL_GRACE_SECONDS", 10, 60) * 1000,
  };
  const config = {
    url: url.replace(/\/+$/, ""),
    allowHttp,
    workerId,
    workerToken,
    registrationToken: read.secret("WINDLASS_REGISTRATION_TOKEN", 4096),
    workerName: read.text("WINDLASS_WORKER_NAME", forms.name) ?? hostname().slice(0, 100),
    workDir: resolve(read.text("WINDLASS_WORK_DIR") ?? defaultWorkDir(environment)),
    concurrency: read.whole("WINDLASS_CONCURRENCY", 1, 1, 100),
    labels: read.list("WINDLASS_LABELS", forms.label, 32),
    once: read.flag("WINDLASS_ONCE"),
    stopSeconds: read.number("WINDLASS_STOP_SECONDS", Infinity, 0, 604_800),
    isolation: read.word("WINDLASS_ISOLATION", levels),
    ...isolationOf(read, environment),
    heartbeatSeconds: read.seconds("WINDLASS_HEARTBEAT_SECONDS", 30),
    grace,
    retry: retryLimits(read.seconds("WINDLASS_RETRY_SECONDS", 30) * 1000),
    logLimitBytes: Math.round(read.number("WINDLASS_LOG_LIMIT_MIB", 256, 0.001, 1e6) * 1024 ** 2),
    debugLogLimitBytes: Math.round(
      read.number("WINDLASS_DEBUG_LOG_LIMIT_MIB", 64, 0.001, 1024) * 1024 ** 2,
    ),
    gitAccess: gitAccessOf(read.secret("WINDLASS_GIT_CREDENTIALS", 100_000)),
    engineMirror: read.text("WINDLASS_ENGINE_MIRROR", forms.mirror),
    engineOffline: read.flag("WINDLASS_ENGINE_OFFLINE"),
    providerMirror: read.text("WINDLASS_PROVIDER_MIRROR", forms.providerMirror),
    cache: {
      bytes: Math.round(read.number("WINDLASS_CACHE_GIB", 10, 0, 100_000) * 1024 ** 3),
      days: read.number("WINDLASS_CACHE_DAYS", 90, 0, 36_500),
    },
    sourceBytes: read.whole("WINDLASS_SOURCE_MIB", 1024, 1, 1e9) * 1024 ** 2,
    freeDiskBytes: Math.round(read.number("WINDLASS_FREE_DISK_MIB", 1024, 0, 1e9) * 1024 ** 2),
    enginePublicKeys: read.file("WINDLASS_ENGINE_KEYS"),
    statusAddress: addressOf(read.text("WINDLASS_STATUS_ADDRESS", forms.listen)),
    systemd: {
      socket: environment["NOTIFY_SOCKET"],
      watchdogSeconds: Number(environment["WATCHDOG_USEC"] ?? 0) / 1_000_000 || undefined,
      isUnit: environment["INVOCATION_ID"] !== undefined,
    },
    logLevel: read.word("WINDLASS_LOG_LEVEL", logLevels) ?? "info",
    logFormat:
      read.word("WINDLASS_LOG_FORMAT", ["pretty", "json"]) ??
      (process.stderr.isTTY ? "pretty" : "json"),
    path: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
    network: networkOf(environment),
    cloud: cloudSettings(environment),
  } as const;
  return { ...config, warnings: read.unknown() };
}

/**
 * The starter hands the agent's own AWS keys on in a pipe, because the environment that a process starts with stays readable in /proc.
 * The SDK finds them in the environment of this process, which is not that one.
 */
function restoreAwsSecrets(read: ConfigReader, environment: NodeJS.ProcessEnv): void {
  const [secret, session] = read.file("WINDLASS_AWS_SECRETS_FILE")?.split("\n") ?? [];
  if (secret) environment["AWS_SECRET_ACCESS_KEY"] = secret;
  if (session) environment["AWS_SESSION_TOKEN"] = session;
  delete environment["WINDLASS_AWS_SECRETS_FILE"];
}

/** The usual users stand between those of containers and 2³¹, where no distribution has any. */
function isolationOf(read: ConfigReader, environment: NodeJS.ProcessEnv): IsolationConfig {
  const given = {
    WINDLASS_JOB_UIDS: read.text("WINDLASS_JOB_UIDS", forms.users) ?? "1880000000-1896777215",
    WINDLASS_JOB_PATHS: read.list("WINDLASS_JOB_PATHS", forms.path, 100),
    WINDLASS_CONTAINER_ENGINE:
      read.word("WINDLASS_CONTAINER_ENGINE", ["docker", "podman"]) ?? "docker",
    WINDLASS_CONTAINER_IMAGE: read.text("WINDLASS_CONTAINER_IMAGE", forms.image),
    WINDLASS_JOB_MEMORY_MIB: read.whole("WINDLASS_JOB_MEMORY_MIB", 4096, 0, 1e9),
    WINDLASS_JOB_PROCESSES: read.whole("WINDLASS_JOB_PROCESSES", 4096, 0, 1e9),
    WINDLASS_JOB_FILE_MIB: read.whole("WINDLASS_JOB_FILE_MIB", 10_240, 0, 1e9),
  };
  const isolation = isolationConfig(given, environment);
  if (!isolation) throw new ConfigError("WINDLASS_JOB_UIDS is no range of users, like 70000-70099");
  return isolation;
}

function gitAccessOf(text = ""): GitAccess[] {
  try {
    return readGitAccess(text);
  } catch (error) {
    throw new ConfigError(`WINDLASS_GIT_CREDENTIALS: ${(error as Error).message}`);
  }
}
