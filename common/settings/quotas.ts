/** The quotas of a server. */
import type { Settings } from "./setting.ts";

const amount = { type: "integer", min: 1, max: 1_000_000 } as const;
const volume = { type: "size", unit: "MiB", min: 0.001, max: 1_000_000_000 } as const;

export const quotas = {
  WINDLASS_QUOTA_QUEUED_JOBS: {
    ...amount,
    default: 1000,
    help: "how many queued jobs a space (personal or of a team) may have",
  },
  WINDLASS_QUOTA_CONFIGURATIONS: {
    ...amount,
    default: 10_000,
    help: "how many configurations a space may have",
  },
  WINDLASS_QUOTA_VARIABLE_SETS: {
    ...amount,
    default: 1000,
    help: "how many variable sets a space may have",
  },
  WINDLASS_QUOTA_WORKERS: {
    ...amount,
    default: 1000,
    help: "how many workers a space may have",
  },
  WINDLASS_QUOTA_ZONES: {
    ...amount,
    default: 10_000,
    help: "how many zones a space may have",
  },
  WINDLASS_QUOTA_IDENTITIES: {
    ...amount,
    default: 1000,
    help: "how many cloud identities a space may have",
  },
  WINDLASS_QUOTA_TEAMS: {
    ...amount,
    default: 20,
    help: "how many teams a user may have created and still be a member of: each has quotas of its own",
  },
  WINDLASS_QUOTA_ARCHIVE_MIB: {
    ...volume,
    default: 5120,
    help: "the total size of a space's uploaded archives, in MiB",
  },
  WINDLASS_QUOTA_STATE_MIB: {
    ...volume,
    default: 5120,
    help: "the total size of a space's managed states and their old versions, in MiB",
    details: "Checked when a DEPLOY is created, and before `windlass state push` and a rollback",
  },
  WINDLASS_QUOTA_LOG_MIB: {
    ...volume,
    default: 256,
    help: "the size of one job's log at the server, in MiB",
    details:
      "After the first chunk beyond it, all later chunks get 201, are dropped, and are counted in `windlass_log_dropped_bytes_total`; the job's `log_complete` is false",
  },
} as const satisfies Settings;
