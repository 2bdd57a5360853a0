import { existsSync } from "node:fs";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../config.ts";
import { makeBackup } from "../backup/backup.ts";
import { bytes } from "../backup/files.ts";
import { secretNames } from "../backup/manifest.ts";
import { readOneFile } from "./one-file.ts";

const usage = `Usage: windlass server backup [--without-secrets] FILE

Writes all of the server's data to one new file (.tar.gz, mode 0600): the
database as it is at this moment, plan artifacts, archives, states, and the
secrets that are kept in the data directory. The server may be running, and
keeps running.

A backup cannot be restored without WINDLASS_SECRET_KEY. A key that is kept in
the data directory is part of the file, so protect the file like a password. A
key that comes from the environment is not part of it: keep it in another place.

Options:
  --without-secrets   leave the secrets out; you then need WINDLASS_SECRET_KEY
                      to restore

Example:
  windlass server backup /var/backups/windlass-$(date +%F).tar.gz
`;

export async function backup(args: string[]): Promise<void> {
  const asked = readOneFile(args, "without-secrets", usage);
  if (!asked) return;
  const config = readConfig();
  if (config.postgres)
    throw new ConfigError(
      'WINDLASS_DATABASE_URL names a PostgreSQL database, which this command does not back up: use "pg_dump --format=custom", then copy the artifacts (docs/postgresql.md, "Backup")',
    );
  if (!existsSync(config.databaseFile))
    throw new ConfigError(
      `there is no database at ${config.databaseFile}; set WINDLASS_DATA_DIR to the server's data directory`,
    );
  const made = await makeBackup(config, asked.file, !asked.isOn);
  process.stdout.write(
    `${made.file}: ${bytes(made.size_bytes)}, with the database${made.bucket === undefined ? ` and ${made.blobs} files` : ""} as ${made.bucket === undefined ? "they were" : "it was"} at ${made.created_at}\n`,
  );
  if (made.bucket !== undefined)
    process.stderr.write(
      `The ${made.blobs} files that the database names stay in ${made.bucket} and are not part of the backup. Keep what the server deletes there at least as long as this file (docs/backup.md, "Files in S3").\n`,
    );
  if (made.secrets.length > 0)
    process.stderr.write(
      `The file contains the server's secrets (${made.secrets.join(", ")}), which decrypt everything in it. Protect it like a password.\n`,
    );
  const missing = secretNames.filter((name) => !made.secrets.includes(name));
  if (missing.includes("WINDLASS_SECRET_KEY"))
    process.stderr.write(
      "The file does not contain WINDLASS_SECRET_KEY, without which it cannot be restored. Keep the key in another place.\n",
    );
}
