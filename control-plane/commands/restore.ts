/** `windlass server restore`: a backup becomes the data directory of a server that is stopped. */
import { existsSync } from "node:fs";
import { readConfig } from "../config.ts";
import { readOneFile } from "./one-file.ts";
import { BadBackupError, restoreBackup } from "../backup/restore.ts";

const usage = `Usage: windlass server restore [--force] FILE

Makes what "windlass server backup" wrote the data directory
(WINDLASS_DATA_DIR). Run it as the user the server runs as, with the server
stopped. The file is checked whole before anything is changed.

At the next start everybody signs in again, and jobs that were queued or running
at the time of the backup are FAILED, outcome unknown: they may have run since,
and are never run again by themselves.

Options:
  --force   also into a directory that is not empty; what is there is kept in
            before-restore-… inside it

Example:
  windlass server restore /var/backups/windlass-2026-01-31.tar.gz
`;

/** The command's entry. */
export async function restore(args: string[]): Promise<void> {
  const asked = readOneFile(args, "force", usage);
  if (!asked) return;
  const { file, isOn: force } = asked;
  const config = readConfig();
  if (!existsSync(file)) throw new Error(`there is no file ${file}`);
  try {
    const { manifest, aside } = await restoreBackup(config, file, force);
    process.stdout.write(
      `${config.dataDirectory} is what it was at ${manifest.created_at} (Windlass ${manifest.version}); start the server\n`,
    );
    if (aside !== undefined) process.stderr.write(`What was there before is in ${aside}\n`);
  } catch (error) {
    if (error instanceof BadBackupError)
      throw new Error(`${file} is not restored: ${error.message}`, { cause: error });
    throw error;
  }
}
