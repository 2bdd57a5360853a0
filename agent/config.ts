/**
 * Reads the agent's settings, which common/settings/agent.ts declares, and checks the rules that
 * involve several. No other file of the agent reads the environment.
 */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { withoutEndSlashes } from "../common/addresses.ts";
import { retryLimits, type BackoffLimits } from "../common/backoff.ts";
import type { LogSettings } from "../common/log.ts";
import { networkOf, type Network } from "../common/network.ts";
import { agentSettings } from "../common/settings/agent.ts";
import { ConfigError, MissingSettingError } from "../common/settings/config-error.ts";
import { readSettingFile } from "../common/settings/file.ts";
import { settingsReader } from "../common/settings/read.ts";
import { expected } from "../common/settings/setting.ts";
import { limitsIn } from "../common/settings/test-limits.ts";
import { unknownSettings } from "../common/settings/unknown.ts";
import { mebibyte, second } from "../common/units.ts";
import { isPlainHttp } from "./machine/network.ts";
import { cloudSettings, type CloudSettings } from "./job/credentials/cloud-providers.ts";
import type { EngineMirrors } from "./job/engine/releases.ts";
import type { Level } from "./job/isolation/isolation.ts";
import { isolationConfig, type IsolationConfig } from "./job/isolation/settings.ts";
import { readGitAccess, type GitAccess } from "./job/source/git-access.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface AgentConfig extends IsolationConfig, LogSettings {
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
  /** How long an agent for one job waits for it; Infinity: without end. */
  readonly onceWaitSeconds: number;
  /** From the first SIGTERM until running jobs are cancelled; Infinity: never. */
  readonly stopSeconds: number;
  /** The level that the setting names; undefined: the strongest that works. */
  readonly isolation: Level | undefined;
  readonly heartbeatSeconds: number;
  /** In milliseconds. */
  readonly grace: Readonly<Record<"init" | "plan" | "apply" | "kill", number>>;
  readonly retry: BackoffLimits;
  readonly logLimitBytes: number;
  readonly debugLogLimitBytes: number;
  readonly gitAccess: readonly GitAccess[];
  readonly engineMirrors: EngineMirrors;
  readonly engineOffline: boolean;
  readonly providerMirror: string | undefined;
  readonly cacheBytes: number;
  readonly sourceBytes: number;
  readonly freeDiskBytes: number;
  readonly enginePublicKeys: string | undefined;
  /** Undefined: nothing is served. */
  readonly statusAddress: Address | undefined;
  /** What systemd passes to its service; undefined and false elsewhere. */
  readonly systemd: {
    readonly socket: string | undefined;
    readonly watchdogSeconds: number | undefined;
    readonly isUnit: boolean;
  };
  /** PATH for terraform and git. */
  readonly path: string;
  readonly network: Network;
  readonly cloud: CloudSettings;
  readonly warnings: readonly string[];
}

/** Constants except in tests. */
const limits = {
  /** Hours of terraform's debug output; compressed, it is far below what the server takes. */
  debugLogLimitBytes: 64 * mebibyte,
};

/** Reads the settings. Throws `ConfigError`. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): AgentConfig {
  const read = settingsReader(agentSettings, environment);
  restoreAwsSecrets(environment);
  const url = read("WINDLASS_URL");
  if (url === undefined)
    throw new MissingSettingError(
      "WINDLASS_URL",
      "set it to the address of the control plane, such as https://windlass.example.com",
    );
  const allowHttp = read("WINDLASS_ALLOW_HTTP");
  if (!allowHttp && isPlainHttp(url))
    throw new ConfigError(
      "WINDLASS_URL must be an https address, because over http the worker's token and all secrets of its jobs can be read on the network. WINDLASS_ALLOW_HTTP=1 allows http",
    );
  const workerId = read("WINDLASS_WORKER_ID");
  const workerToken = read("WINDLASS_WORKER_TOKEN");
  if ((workerId === undefined) !== (workerToken === undefined))
    throw new ConfigError(
      "WINDLASS_WORKER_ID and WINDLASS_WORKER_TOKEN must be set together: set both or neither",
    );
  /**
   * Milliseconds from the first SIGINT to the second, and to SIGKILL: at most 14 of the 15 minutes
   * after which the next job gets the state. The last minute is for the log and the state.
   */
  const grace = {
    init: read("WINDLASS_INIT_GRACE_SECONDS") * second,
    plan: read("WINDLASS_PLAN_GRACE_SECONDS") * second,
    apply: read("WINDLASS_APPLY_GRACE_SECONDS") * second,
    kill: read("WINDLASS_KILL_GRACE_SECONDS") * second,
  };
  const config = {
    url,
    allowHttp,
    workerId,
    workerToken,
    registrationToken: read("WINDLASS_REGISTRATION_TOKEN"),
    workerName: read("WINDLASS_WORKER_NAME") ?? hostname().slice(0, 100),
    workDir: resolve(read("WINDLASS_WORK_DIR") ?? defaultWorkDir(environment)),
    concurrency: read("WINDLASS_CONCURRENCY"),
    labels: read("WINDLASS_LABELS"),
    once: read("WINDLASS_ONCE"),
    onceWaitSeconds: read("WINDLASS_ONCE_WAIT_SECONDS") ?? Infinity,
    stopSeconds: read("WINDLASS_STOP_SECONDS") ?? Infinity,
    isolation: read("WINDLASS_ISOLATION"),
    ...isolationOf(read, environment),
    heartbeatSeconds: read("WINDLASS_HEARTBEAT_SECONDS"),
    grace,
    retry: retryLimits(read("WINDLASS_RETRY_SECONDS") * second),
    logLimitBytes: read("WINDLASS_LOG_LIMIT_MIB"),
    ...limitsIn(environment, limits),
    gitAccess: gitAccessOf(read("WINDLASS_GIT_CREDENTIALS")),
    engineMirrors: {
      terraform: withoutEndSlashes(read("WINDLASS_ENGINE_MIRROR")),
      opentofu: withoutEndSlashes(read("WINDLASS_TOFU_MIRROR")),
    },
    engineOffline: read("WINDLASS_ENGINE_OFFLINE"),
    providerMirror: read("WINDLASS_PROVIDER_MIRROR"),
    cacheBytes: read("WINDLASS_CACHE_GIB"),
    sourceBytes: read("WINDLASS_SOURCE_MIB"),
    freeDiskBytes: read("WINDLASS_FREE_DISK_MIB"),
    enginePublicKeys: read("WINDLASS_ENGINE_KEYS"),
    statusAddress: addressOf(read("WINDLASS_STATUS_ADDRESS")),
    systemd: {
      socket: environment["NOTIFY_SOCKET"],
      watchdogSeconds: Number(environment["WATCHDOG_USEC"] ?? 0) / 1_000_000 || undefined,
      isUnit: environment["INVOCATION_ID"] !== undefined,
    },
    logLevel: read("WINDLASS_LOG_LEVEL"),
    logFormat: read("WINDLASS_LOG_FORMAT") ?? (process.stderr.isTTY ? "pretty" : "json"),
    path: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
    network: networkOf(environment),
    cloud: cloudSettings(environment),
  } as const;
  return { ...config, warnings: unknownSettings("agent", environment) };
}

/**
 * `bin/windlass` passes the agent's AWS keys through a pipe: the environment of a start stays
 * readable in /proc, unlike changes of `process.env`, where the AWS SDK finds them.
 */
function restoreAwsSecrets(environment: NodeJS.ProcessEnv): void {
  const name = "WINDLASS_AWS_SECRETS_FILE";
  const path = environment[name];
  if (!path) return;
  const [secret, session] = readSettingFile(name, path).split("\n");
  if (secret) environment["AWS_SECRET_ACCESS_KEY"] = secret;
  if (session) environment["AWS_SESSION_TOKEN"] = session;
  delete environment[name];
}

function isolationOf(
  read: ReturnType<typeof settingsReader<typeof agentSettings>>,
  environment: NodeJS.ProcessEnv,
): IsolationConfig {
  const userRange = read("WINDLASS_JOB_UIDS");
  const isolation = isolationConfig(
    {
      userRange,
      readable: read("WINDLASS_JOB_PATHS"),
      limits: {
        memoryBytes: read("WINDLASS_JOB_MEMORY_MIB"),
        processes: read("WINDLASS_JOB_PROCESSES"),
        fileBytes: read("WINDLASS_JOB_FILE_MIB"),
      },
      engine: read("WINDLASS_CONTAINER_ENGINE"),
      image: read("WINDLASS_CONTAINER_IMAGE"),
    },
    environment,
  );
  if (isolation) return isolation;
  throw new ConfigError(
    `WINDLASS_JOB_UIDS must be ${expected(agentSettings.WINDLASS_JOB_UIDS)}: the first id at least 1 and not above the second, not "${userRange}"`,
  );
}

function gitAccessOf(text = ""): GitAccess[] {
  try {
    return readGitAccess(text);
  } catch (error) {
    throw new ConfigError(`WINDLASS_GIT_CREDENTIALS: ${(error as Error).message}`);
  }
}

/** Where an agent works that was told nothing. */
function defaultWorkDir(environment: NodeJS.ProcessEnv): string {
  const fromSystemd = environment["STATE_DIRECTORY"]?.split(":")[0];
  if (fromSystemd) return fromSystemd;
  const isCheckout = existsSync(join(import.meta.dirname, "..", "main.ts"));
  return isCheckout ? ".windlass/agent" : "/var/lib/windlass-agent";
}

/** `host:port`, where a host of version 6 stands in brackets. */
function addressOf(text: string | undefined): Address | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(`http://${text}`))
    throw new ConfigError(
      `WINDLASS_STATUS_ADDRESS must be ${expected(agentSettings.WINDLASS_STATUS_ADDRESS)}, not "${text}"`,
    );
  const { hostname: host, port } = new URL(`http://${text}`);
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port || 80) };
}
