/**
 * Makes a backup: one file with the database, the blobs that it names, and the secrets that are
 * kept in the data directory.
 *
 * The database is copied first, then the blobs. So everything that the copy names exists, as long
 * as no file is deleted in between; the copy's pin prevents that (store/storage/snapshot.ts).
 * Changes after the copy are not in the backup.
 */
import { randomBytes } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { link, mkdir, open, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { version } from "../../common/version.ts";
import { s3Address } from "../blobs/s3-place.ts";
import type { ServerConfig } from "../config.ts";
import { openSnapshot, snapshotDatabase, type BlobPin } from "../store/storage/snapshot.ts";
import { digestOf, flushDirectory, withProgress } from "./files.ts";
import { blobPath, databaseName, manifestName, secretNames, type Manifest } from "./manifest.ts";

export interface MadeBackup {
  readonly file: string;
  readonly size_bytes: number;
  /** How many blobs the database names. */
  readonly blobs: number;
  /** The bucket that has them; undefined: the file has them. */
  readonly bucket: string | undefined;
  readonly created_at: string;
  readonly secrets: readonly string[];
}

/** The new file has mode 0600 and appears only when it is complete. Throws if the file exists. */
export async function makeBackup(
  config: ServerConfig,
  target: string,
  withSecrets: boolean,
): Promise<MadeBackup> {
  const file = resolve(target);
  if (existsSync(file)) throw new Error(`${file} already exists; choose another name`);
  const stage = join(dirname(file), `.windlass-backup-${randomBytes(6).toString("hex")}`);
  await mkdir(stage, { mode: 0o700 }).catch(({ code }: NodeJS.ErrnoException) => {
    throw new Error(
      code === "ENOENT"
        ? `the directory ${dirname(file)} does not exist; make it first`
        : `nothing can be written to the directory ${dirname(file)} (${code})`,
    );
  });
  let pin: BlobPin | undefined;
  try {
    const created_at = new Date().toISOString();
    pin = snapshotDatabase(config.databaseFile, join(stage, databaseName));
    const { schema_version, blobs } = inspect(join(stage, databaseName));
    const secrets = withSecrets ? keptSecrets(config) : [];
    const bucket = config.s3 && s3Address(config.s3);
    // Paths in the archive are those of a data directory, wherever the files are on this server.
    if (bucket === undefined) await symlink(config.artifactsDirectory, join(stage, "blobs"));
    await symlink(join(config.dataDirectory, "secrets"), join(stage, "secrets"));
    const paths = [
      databaseName,
      ...secrets.map((name) => `secrets/${name}`),
      ...(bucket === undefined ? blobs.map(blobPath) : []),
    ];
    const members = await digests(stage, paths, pin);
    const manifest: Manifest = {
      format: 1,
      version: version(),
      schema_version,
      created_at,
      ...(bucket === undefined ? {} : { blobs: bucket }),
      members,
    };
    await writeFile(join(stage, manifestName), JSON.stringify(manifest));
    await pack(stage, [manifestName, ...paths], pin);
    const { size: size_bytes } = await stat(packedFile(stage));
    // A link, because a rename would replace a file that was created in the meantime.
    await link(packedFile(stage), file);
    await flushDirectory(dirname(file));
    return { file, size_bytes, blobs: blobs.length, bucket, created_at, secrets };
  } finally {
    pin?.release();
    await rm(stage, { recursive: true, force: true });
  }
}

/** A secret from the settings overrides the file, and may not be written to a backup. */
const keptSecrets = (config: ServerConfig): string[] =>
  secretNames.filter(
    (name) =>
      (name === "CLI_JWT_SECRET" ? config.jwtSecret : config.secretKey) === undefined &&
      existsSync(join(config.dataDirectory, "secrets", name)),
  );

function inspect(copy: string): { schema_version: number; blobs: string[] } {
  const snapshot = openSnapshot(copy);
  try {
    snapshot.removePins();
    const [defect] = snapshot.defects();
    if (defect !== undefined) throw new Error(`the database is damaged: ${defect}`);
    return { schema_version: snapshot.schema, blobs: snapshot.blobs() };
  } finally {
    snapshot.close();
  }
}

async function digests(stage: string, paths: readonly string[], pin: BlobPin) {
  const members: Manifest["members"] = [];
  const read = async (step: () => void) => {
    for (const path of paths) {
      members.push({ path, ...(await digestOf(join(stage, path))) });
      step();
      if (members.length % 10_000 === 0) pin.renew();
    }
    return members;
  };
  return withProgress("reading", () => paths.length, read);
}

const packedFile = (stage: string): string => join(stage, "packed");

async function pack(stage: string, paths: string[], pin: BlobPin): Promise<void> {
  pin.renew();
  const tar = await import("tar");
  const file = await open(packedFile(stage), "wx", 0o600);
  const write = async (step: () => void): Promise<void> => {
    const packing = tar.create(
      {
        cwd: stage,
        portable: true,
        strict: true,
        // Sealed content cannot be compressed, so more effort gains nothing.
        gzip: { level: 1 },
        onWriteEntry: () => step(),
      },
      paths,
    );
    await pipeline(
      packing as unknown as AsyncIterable<Buffer>,
      createWriteStream("", { fd: file.fd, autoClose: false }),
    );
    await file.sync();
  };
  try {
    await withProgress("packing", () => paths.length, write);
  } finally {
    await file.close();
  }
}
