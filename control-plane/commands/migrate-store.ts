/** `windlass server migrate-store`: moves all data of a stopped server to another store. */
import { parseArgs } from "node:util";
import { bytes } from "../backup/files.ts";
import { moveStore } from "../backup/move.ts";
import { readConfigOf, useAwsSettings } from "../config.ts";

const usage = `Usage: windlass server migrate-store --from PLACE --to PLACE

Moves all data of a stopped server to another database and another place for
files: between SQLite and PostgreSQL, and between a directory and S3. Stop all
servers first. The source is only read; the target must be empty.

A PLACE is a server's data directory, or a file with its settings, one
NAME=value per line, such as /etc/windlass/server.env. Settings that the file
does not contain come from the environment, except for WINDLASS_DATABASE_URL,
WINDLASS_DATABASE_OWNER_URL and WINDLASS_ARTIFACTS_URL. The target needs the
source's WINDLASS_SECRET_KEY, and its CLI_JWT_SECRET if users are to stay signed
in.

Every table is compared with its source by the number and the digest of its
rows, every file by its size and its SHA-256. Until all of them match, no server
starts on the target. If the command is interrupted, run it again: it continues.

Options:
  --from PLACE   the server to move from
  --to PLACE     the server to move to

Example:
  windlass server migrate-store --from /var/lib/windlass \\
    --to /etc/windlass/postgres.env
`;

export async function migrateStore(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      from: { type: "string" },
      to: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return void process.stdout.write(usage);
  if (values.from === undefined || values.to === undefined) {
    process.stderr.write(usage);
    process.exitCode = 2;
    return;
  }
  useAwsSettings(values.from, values.to);
  const from = readConfigOf(values.from);
  const to = readConfigOf(values.to);
  for (const warning of to.warnings) process.stderr.write(`${values.to}: ${warning}\n`);
  const { tables, blobs, keepsSignIns, ...moved } = await moveStore(from, to);
  const files =
    blobs === undefined
      ? "the files stay where they are"
      : `${blobs.files} files (${bytes(blobs.size_bytes)})`;
  process.stdout.write(
    `Moved ${tables.rows} rows of ${tables.tables} tables, ${files}, from ${moved.from} to ${moved.to}. Numbers and digests match. Start the servers with the settings of the target, and none with those of the source.\n`,
  );
  if (blobs !== undefined && blobs.missing.length > 0)
    process.stderr.write(
      `The source does not have ${blobs.missing.length} files that its database names: ${blobs.missing.slice(0, 10).join(", ")}${blobs.missing.length > 10 ? ", …" : ""}\n`,
    );
  if (!keepsSignIns)
    process.stderr.write(
      "The target has another CLI_JWT_SECRET, or none yet: all users must sign in again.\n",
    );
}
