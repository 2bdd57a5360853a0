/** Control planes that share a database must share artifacts: it knows the directory's id. */
import { ConfigError } from "../../common/settings/config-error.ts";
import { s3Address } from "../blobs/s3-place.ts";
import type { ServerConfig } from "../config.ts";
import type { Store } from "../store/db.ts";
import { artifactsDirectoryId, findFact, setFact } from "../store/facts.ts";
import { findSecret, keptSecret } from "./secrets.ts";

/** The name of the file in the directory. */
export const directoryIdName = "DIRECTORY-ID";

/** Throws ConfigError if the directory is not the one of this database. */
export async function checkSharedDirectory(
  { artifactsDirectory, s3 }: Pick<ServerConfig, "artifactsDirectory" | "s3">,
  store: Store,
): Promise<void> {
  const known = await findFact(store.read, artifactsDirectoryId);
  if (s3 !== undefined) return checkSharedBucket(s3Address(s3), known, store);
  const found = findSecret(artifactsDirectory, directoryIdName);
  if (known === undefined) {
    const id = found ?? (await keptSecret(artifactsDirectory, directoryIdName));
    await store.write(async (tx) => {
      if ((await findFact(tx, artifactsDirectoryId)) === undefined)
        await setFact(tx, artifactsDirectoryId, id);
    });
    return checkSharedDirectory({ artifactsDirectory, s3 }, store);
  }
  if (known !== found)
    throw new ConfigError(
      `${artifactsDirectory} is not the directory of plans, archives and states of this database: set WINDLASS_ARTIFACTS_URL to the directory that its other control planes use`,
    );
}

/** The address of a bucket is the id of its place. */
async function checkSharedBucket(
  address: string,
  known: string | undefined,
  store: Store,
): Promise<void> {
  if (known === address) return;
  if (known?.startsWith("s3:"))
    throw new ConfigError(
      `WINDLASS_ARTIFACTS_URL is ${address}, but the other control planes of this database use ${known}`,
    );
  // Not known yet, or the files were moved from a directory.
  await store.write((tx) => setFact(tx, artifactsDirectoryId, address));
}
