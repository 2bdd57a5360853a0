/** The tables whose rows name blobs, in the column `blob`. Each has an index on it. */
export const blobTables = [
  "plan_artifacts",
  "debug_logs",
  "log_archives",
  "archives",
  "state_versions",
] as const;
