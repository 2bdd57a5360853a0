/** The settings of the agent. */
import { logging } from "./logging.ts";
import { authorities, proxies } from "./network.ts";
import type { Settings } from "./setting.ts";

const mirror = {
  type: "text",
  pattern: /^https?:\/\/\S+$/,
  expected: "an http or https address",
} as const;
const onlyHttps = "From an https address, only redirects to https are followed";
const period = { type: "number", unit: "seconds", min: 0.01 } as const;
/** After 15 minutes without an end, the state of a cancelled job goes to the next one. */
const stopLimit =
  "At most 780, because the server gives the state to the next job 15 minutes after a cancel that was not acknowledged";

export const agent = {
  WINDLASS_URL: {
    type: "url",
    otherwise: "required",
    help: "the control plane",
    details:
      "If it changes, the agent keeps its identity: the server at the new address must first prove that it knows this worker; only then does the agent send its token",
  },
  WINDLASS_ALLOW_HTTP: {
    type: "boolean",
    help: "allows http: for a control plane or a Vault on another machine, and for git repositories wherever they are",
    details:
      "Everything sent over `http:` can be read on the network, including the worker's token and the secrets of jobs",
  },
  WINDLASS_REGISTRATION_TOKEN: {
    type: "secret",
    maxLength: 4096,
    help: "registers the agent at its first start; afterwards its identity is in the work directory",
  },
  WINDLASS_WORKER_NAME: {
    type: "text",
    pattern: /^\P{Cc}+$/u,
    maxLength: 100,
    expected: "a name of up to 100 characters",
    otherwise: "the host name",
    help: "the name to register with",
  },
  WINDLASS_WORKER_ID: {
    type: "text",
    pattern: /^[0-9A-Za-z-]{1,64}$/,
    expected: "the id of a worker",
    help: "the id of a worker that is already registered",
  },
  WINDLASS_WORKER_TOKEN: {
    type: "secret",
    maxLength: 1000,
    help: "the token of the worker that WINDLASS_WORKER_ID names",
  },
  WINDLASS_WORK_DIR: {
    type: "path",
    otherwise:
      "systemd's state directory, else .windlass/agent in the current directory if Windlass runs from a checkout, else /var/lib/windlass-agent",
    help: "the directory of the identity, journals, workspaces and undelivered logs",
  },
  WINDLASS_CONCURRENCY: {
    type: "integer",
    min: 1,
    max: 100,
    default: 1,
    help: "how many jobs run at the same time",
  },
  WINDLASS_LABELS: {
    type: "list",
    pattern: /^[A-Za-z0-9][A-Za-z0-9._/:=-]*$/,
    maxLength: 63,
    most: 32,
    expected: "labels such as eu-west",
    help: "the labels of the worker, such as gpu or eu-west, separated by commas",
    details:
      "A job that asks for labels goes only to a worker that has all of them, unless it names its worker. Without this setting, the worker keeps those that `windlass workers update` gave it",
  },
  WINDLASS_ONCE: {
    type: "boolean",
    help: "runs one job and exits with 0 after its end is reported, whatever the end",
    details:
      "For a runner that is started for one job, such as [a Job of Kubernetes](docs/deploy.md#kubernetes). Exits with another code if it could not register or lost the job",
  },
  WINDLASS_ONCE_WAIT_SECONDS: {
    type: "number",
    unit: "seconds",
    min: 1,
    max: 604_800,
    otherwise: "no limit",
    help: "with WINDLASS_ONCE: how long the agent may take to register and get a job; without a job it then exits with 0",
  },
  WINDLASS_STOP_SECONDS: {
    type: "number",
    unit: "seconds",
    min: 0,
    max: 604_800,
    otherwise: "no limit",
    help: "how long running jobs may continue after the first SIGTERM; then they are cancelled",
    details:
      "A second SIGTERM cancels them too. A cancelled apply may take another `WINDLASS_APPLY_GRACE_SECONDS`, so the stop timeout (`docker run --stop-timeout`, " +
      "`terminationGracePeriodSeconds`, `TimeoutStopSec`) must be at least the sum of both plus a minute. The image and the systemd unit set 3600, for a stop timeout of 75 minutes",
  },
  WINDLASS_INIT_GRACE_SECONDS: {
    ...period,
    max: 780,
    default: 5,
    help: "how long terraform may take to stop after SIGINT, during init",
    details: stopLimit,
  },
  WINDLASS_PLAN_GRACE_SECONDS: {
    ...period,
    max: 780,
    default: 30,
    help: "how long terraform may take to stop after SIGINT, during plan",
  },
  WINDLASS_APPLY_GRACE_SECONDS: {
    ...period,
    max: 780,
    default: 600,
    help: "how long terraform may take to stop after SIGINT, during apply",
  },
  WINDLASS_KILL_GRACE_SECONDS: {
    ...period,
    max: 60,
    default: 10,
    help: "how long terraform may take to stop after the second SIGINT; then it gets SIGKILL",
  },
  WINDLASS_LOG_LIMIT_MIB: {
    type: "size",
    unit: "MiB",
    min: 0.001,
    max: 1_000_000,
    default: 256,
    help: "the size of one job's log, in MiB",
    details: "Output beyond this limit is dropped, and the dropped bytes are counted",
  },
  WINDLASS_STATUS_ADDRESS: {
    type: "text",
    pattern: /^(\[[0-9a-f:]+\]|[^\s:/]+):\d{1,5}$/,
    expected: "an address of this machine such as 127.0.0.1:9185",
    otherwise: "only a socket",
    help: "an address for /healthz, /readyz and /metrics, in addition to the socket",
    details:
      "`/healthz`: the process works. `/readyz`: the control plane responds. Use only `/healthz` to decide about a restart: restarting the agent does not repair a control plane. The socket is `status.sock` in `WINDLASS_WORK_DIR`, which only the agent's user may open; `windlass agent health` asks there. At an address, jobs can connect too, and keep others from it: use it for Prometheus only",
  },
  ...proxies,
  SSL_CERT_FILE: {
    ...authorities,
    details: "Terraform and git get this setting and the proxy settings too",
  },
  SSL_CERT_DIR: { type: "path", help: "directories of such files, for terraform and git" },
  WINDLASS_HEARTBEAT_SECONDS: {
    ...period,
    max: 86_400,
    default: 30,
    isInternal: true,
    help: "how often the agent sends a heartbeat until the server names another period; only for tests",
  },
  WINDLASS_RETRY_SECONDS: {
    ...period,
    max: 86_400,
    default: 30,
    help: "the longest pause before a call that got no response is repeated",
    details: "The pause starts at a quarter of a second and doubles",
  },
  ...logging,
} as const satisfies Settings;

const limit = { type: "size", unit: "MiB", isWhole: true, min: 0, max: 1_000_000_000 } as const;

export const isolation = {
  WINDLASS_ISOLATION: {
    type: "enum",
    values: ["process", "uid", "bubblewrap", "container"],
    otherwise: "the strongest level that works on this machine",
    help: "how jobs are separated from the machine and from each other",
    details:
      "See [the levels](docs/isolation.md). An agent that is root uses `process` only if this setting names it",
  },
  WINDLASS_JOB_UIDS: {
    type: "text",
    pattern: /^\d+-\d+$/,
    otherwise: "1880000000-1896777215; in a user namespace without these, users that it has",
    expected: "a range of user ids such as 70000-70099",
    help: "the user ids for jobs, if the agent is root",
  },
  WINDLASS_JOB_PATHS: {
    type: "list",
    pattern: /^\//,
    most: 100,
    expected: "absolute paths",
    help: "additional paths that jobs may read at the levels that hide the file system (bubblewrap, container)",
  },
  WINDLASS_CONTAINER_ENGINE: {
    type: "enum",
    values: ["docker", "podman"],
    default: "docker",
    help: "the container engine for the level container",
  },
  WINDLASS_CONTAINER_IMAGE: {
    type: "text",
    pattern: /^[A-Za-z0-9]\S{0,254}$/,
    expected: "the name of an image",
    help: "the image for the level container",
  },
  WINDLASS_JOB_MEMORY_MIB: {
    ...limit,
    default: 4096,
    help: "the memory that one job may use, in MiB; 0: no limit",
    details:
      "The limit applies to the whole job at the level `container` and where the agent has [a control group](docs/isolation.md), and to each process elsewhere. " +
      "A job that reaches this limit or one of the next two fails; the agent and other jobs continue",
  },
  WINDLASS_JOB_PROCESSES: {
    type: "integer",
    min: 0,
    max: 1_000_000_000,
    default: 4096,
    help: "how many processes and threads one job may have; 0: no limit",
    details: "Without a control group, the limit applies only if the job has its own user",
  },
  WINDLASS_JOB_FILE_MIB: {
    ...limit,
    default: 10_240,
    help: "the size of the largest file that a job may write, in MiB; 0: no limit",
  },
} as const satisfies Settings;

export const sources = {
  WINDLASS_GIT_CREDENTIALS: {
    type: "secret",
    maxLength: 100_000,
    help: "tokens for private repositories: lines of the form https://user:token@host",
  },
  WINDLASS_SOURCE_MIB: {
    type: "size",
    unit: "MiB",
    isWhole: true,
    min: 1,
    max: 1_000_000_000,
    default: 1024,
    help: "the disk space that a git source may use with its submodules, LFS files and modules, in MiB",
  },
  WINDLASS_ENGINE_MIRROR: {
    ...mirror,
    otherwise: "https://releases.hashicorp.com",
    help: "the address from which terraform is downloaded",
    details: `It must serve the same files as the public one. ${onlyHttps}`,
  },
  WINDLASS_TOFU_MIRROR: {
    ...mirror,
    otherwise: "https://get.opentofu.org/tofu for the list, GitHub for the files",
    help: "the address from which OpenTofu is downloaded",
    details: `It must serve \`api.json\` and \`v1.2.3/tofu_1.2.3_linux_amd64.zip\` with its checksums, as tofudl's mirrors do. ${onlyHttps}`,
  },
  WINDLASS_ENGINE_KEYS: {
    type: "file",
    otherwise: "the keys of HashiCorp and OpenTofu",
    help: "a file with armored OpenPGP keys, for the releases of your own mirrors",
    details: "It replaces the keys of both engines",
  },
  WINDLASS_ENGINE_OFFLINE: {
    type: "boolean",
    help: "downloads no engine: it must be on the PATH or in the cache",
  },
  WINDLASS_PROVIDER_MIRROR: {
    type: "text",
    pattern: /^(\/|https:\/\/)[^\s$%]+$/,
    expected: "an absolute path of a directory, or an https address",
    otherwise: "none, so providers come from their registries",
    help: "the only directory or https address from which providers are installed",
    details:
      "A directory that `terraform providers mirror` has filled, or an address that serves the network mirror protocol",
  },
  WINDLASS_CACHE_GIB: {
    type: "size",
    unit: "GiB",
    min: 0,
    max: 100_000,
    default: 10,
    help: "the disk space for engines and providers that are kept for later jobs, in GiB; 0: none are kept",
    details:
      "The least recently used ones are removed first, and those that were not used for 90 days; never those of a running job",
  },
  WINDLASS_FREE_DISK_MIB: {
    type: "size",
    unit: "MiB",
    min: 0,
    max: 1_000_000_000,
    default: 1024,
    help: "the agent takes no job while fewer MiB are free on the disk of its work directory",
    details:
      "Running jobs continue, and claims resume when there is space again. The log and the metric `windlass_agent_disk_low` show this",
  },
} as const satisfies Settings;

export const agentSettings = { ...agent, ...isolation, ...sources };
