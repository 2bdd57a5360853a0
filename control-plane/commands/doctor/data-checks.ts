/** Whether the server can use its database, its files and the mail server. */
import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { buffer } from "node:stream/consumers";
import { finding, ok, type Finding } from "../../../common/doctor/finding.ts";
import { gibibyte, mebibyte } from "../../../common/units.ts";
import { openBlobs } from "../../blobs/open.ts";
import { s3Address } from "../../blobs/s3-place.ts";
import type { ServerConfig } from "../../config.ts";
import { openMailer } from "../../outbound/mail.ts";
import type { Store } from "../../store/db.ts";
import { readSchema } from "../../store/migrate.ts";
import { listTeamsWithoutAdmin } from "../../store/teams/teams.ts";
import { withStore } from "../beside-server.ts";

/** With less, the disk is full soon. */
const leastFree = gibibyte;
/** How many teams are named. */
const namedTeams = 10;

/** Runs `work` with the database, if it can be opened. */
export async function database(
  config: ServerConfig,
  work: (store: Store) => Promise<Finding[]>,
): Promise<Finding[]> {
  const check = "database";
  const { postgres, databaseFile } = config;
  if (postgres === undefined && !existsSync(databaseFile))
    return [finding(check, "skipped", `${databaseFile} is created at the first start`)];
  const findings: Finding[] = [];
  try {
    await withStore(config, async (store) => {
      const { version } = await readSchema(store.read.sql);
      const text =
        postgres === undefined
          ? `${databaseFile}, ${(statSync(databaseFile).size / mebibyte).toFixed(1)} MiB, schema ${version}`
          : `PostgreSQL at ${new URL(postgres.url).host}, schema ${version}`;
      findings.push(
        store.isShared && !store.hidesOtherSpaces
          ? finding(
              check,
              "warning",
              `${text}; row security is off`,
              "create the role for people, and start the server again: docs/postgresql.md",
            )
          : ok(check, text),
        ...(await work(store)),
      );
    });
  } catch (error) {
    findings.push(finding(check, "failed", (error as Error).message));
  }
  return findings;
}

/** Names teams that no one can manage: a group has taken the last admin away. */
export async function teams({ read }: Pick<Store, "read">): Promise<Finding[]> {
  const found = await read.all(listTeamsWithoutAdmin, { limit: namedTeams + 1 });
  if (found.length === 0) return [];
  const names = found.slice(0, namedTeams).map(({ slug }) => slug);
  const text = `without an admin: ${names.join(", ")}${found.length > namedTeams ? " and more" : ""}`;
  return [finding("teams", "warning", text, "windlass server teams admin SLUG USER")];
}

/** The directory of a server's own files, or the closest one above it that exists. */
export function directory(check: string, path: string): Finding {
  let place = path;
  while (!existsSync(place)) place = dirname(place);
  try {
    accessSync(`${place}/.`, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const advice = "run this as the server's own user, or change the owner of the directory";
    return finding(check, "failed", (error as Error).message, advice);
  }
  const { bavail, bsize } = statfsSync(place);
  const free = bavail * bsize;
  const text = `${path}, ${(free / gibibyte).toFixed(1)} GiB free`;
  if (free < leastFree)
    return finding(check, "warning", text, "free some space: a full disk stops the server's work");
  return ok(check, place === path ? text : `${text}, is created at the first start`);
}

/** Writes, reads and deletes an object. */
export async function bucket(config: ServerConfig): Promise<Finding> {
  const check = "files";
  const { s3 } = config;
  if (s3 === undefined) return directory(check, config.artifactsDirectory);
  try {
    const blobs = await openBlobs(config);
    const content = randomBytes(1024);
    // The name is new, so that it is no other server's.
    const { blob } = await blobs.write(
      (async function* () {
        yield content;
      })(),
      content.length,
    );
    try {
      const read = await buffer(await blobs.read(blob));
      if (!read.equals(content)) throw new Error("what was read differs from what was written");
    } finally {
      await blobs.delete(blob);
    }
    return ok(check, `${s3Address(s3)}: an object was written, read and deleted`);
  } catch (error) {
    return finding(check, "failed", `${s3Address(s3)}: ${(error as Error).message}`);
  }
}

/** Connects and signs in; sends nothing. */
export async function mail({ mail: settings }: ServerConfig): Promise<Finding> {
  const check = "mail";
  if (settings === undefined)
    return finding(check, "skipped", "WINDLASS_SMTP_URL is not set, so no mail is sent");
  const { host } = settings.url;
  try {
    await openMailer(settings).verify();
    return ok(check, `${host} accepts the connection; nothing was sent`);
  } catch (error) {
    const advice = "check WINDLASS_SMTP_URL";
    return finding(check, "failed", `${host}: ${(error as Error).message}`, advice);
  }
}
