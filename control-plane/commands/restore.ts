/** `windlass server restore`: restores a backup into the data directory of a stopped server. */
import { existsSync } from "node:fs";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../config.ts";
import { readOneFile } from "./one-file.ts";
import { BadBackupError, restoreBackup } from "../backup/restore.ts";

const usage = `Usage: windlass server restore [--force] FILE

Restores a backup, a file written by "windlass server backup", into the data
directory (WINDLASS_DATA_DIR). Stop the server first, and run the command as the
server's user. The whole file is checked before anything is changed.

After the next start, all users must sign in again. Jobs that were queued or
running at the time of the backup are FAILED, outcome unknown: they may have run
since then, so no runner gets them again.

Options:
  --force   restore into a directory that is not empty; its content is moved to
            before-restore-… inside it

Example:
  windlass server restore /var/backups/windlass-2026-01-31.tar.gz
`;

export async function restore(args: string[]): Promise<void> {
  const asked = readOneFile(args, "force", usage);
  if (!asked) return;
  const { file, isOn: force } = asked;
  const config = readConfig();
  if (config.postgres)
    throw new ConfigError(
      'WINDLASS_DATABASE_URL names a PostgreSQL database, which this command does not restore: use "pg_restore" (docs/postgresql.md, "Backup")',
    );
  if (!existsSync(file)) throw new Error(`${file} does not exist`);
  try {
    const { manifest, aside } = await restoreBackup(config, file, force);
    process.stdout.write(
      `${config.dataDirectory} is restored to ${manifest.created_at} (Windlass ${manifest.version}). Start the server.\n`,
    );
    if (aside !== undefined) process.stderr.write(`The earlier content is in ${aside}\n`);
  } catch (error) {
    if (error instanceof BadBackupError)
      throw new Error(`${file} is not restored: ${error.message}`, { cause: error });
    throw error;
  }
}
