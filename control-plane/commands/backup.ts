/** `windlass server backup`: one file with everything, made beside a running server. */
import { existsSync } from "node:fs";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../config.ts";
import { makeBackup } from "../backup/backup.ts";
import { bytes } from "../backup/files.ts";
import { secretNames } from "../backup/manifest.ts";
import { readOneFile } from "./one-file.ts";

const usage = `Usage: windlass server backup [--without-secrets] FILE

Writes everything the server keeps to one new file (.tar.gz, mode 0600): the
database as it is at this moment, plan artifacts, archives, states, and the
secrets that are kept in the data directory. The server may be running, and goes
on.

Without WINDLASS_SECRET_KEY half of a backup cannot be read, so a key that is
kept in the data directory is in it: keep the file like a password. A key that
comes from the environment is not in it: keep that beside it.

Options:
  --without-secrets   leave the secrets out; you then need WINDLASS_SECRET_KEY
                      to restore

Example:
  windlass server backup /var/backups/windlass-$(date +%F).tar.gz
`;

/** The command's entry. */
export async function backup(args: string[]): Promise<void> {
  const asked = readOneFile(args, "without-secrets", usage);
  if (!asked) return;
  const config = readConfig();
  if (!existsSync(config.databaseFile))
    throw new ConfigError(
      `there is no data store at ${config.databaseFile}; set WINDLASS_DATA_DIR to the server's directory`,
    );
  const made = await makeBackup(config, asked.file, !asked.isOn);
  process.stdout.write(
    `${made.file}: ${bytes(made.size_bytes)}, the database and ${made.blobs} files, everything up to ${made.created_at}\n`,
  );
  if (made.secrets.length > 0)
    process.stderr.write(
      `It holds the server's secrets (${made.secrets.join(", ")}): who reads it reads everything. Keep it like a password.\n`,
    );
  const missing = secretNames.filter((name) => !made.secrets.includes(name));
  if (missing.includes("WINDLASS_SECRET_KEY"))
    process.stderr.write(
      "It does not hold WINDLASS_SECRET_KEY: without that key it cannot be restored. Keep the key in another place.\n",
    );
}
