/**
 * The directory of artifacts of control planes that share a database. All of them must use the same
 * one, so the directory has an id, which the database knows.
 */
import { ConfigError } from "../../common/settings/config-error.ts";
import type { ServerConfig } from "../config.ts";
import type { Store } from "../store/db.ts";
import { artifactsFolder, findFact, setFact } from "../store/facts.ts";
import { findSecret, keptSecret } from "./secrets.ts";

/** The name of the file in the directory. */
export const folderIdName = "FOLDER-ID";

/** Throws ConfigError if the directory is not the one of this database. */
export async function checkSharedFolder(
  { artifactsDirectory }: Pick<ServerConfig, "artifactsDirectory">,
  store: Store,
): Promise<void> {
  const known = await findFact(store.read, artifactsFolder);
  const found = findSecret(artifactsDirectory, folderIdName);
  if (known === undefined) {
    const id = found ?? (await keptSecret(artifactsDirectory, folderIdName));
    await store.write(async (tx) => {
      if ((await findFact(tx, artifactsFolder)) === undefined)
        await setFact(tx, artifactsFolder, id);
    });
    return checkSharedFolder({ artifactsDirectory }, store);
  }
  if (known !== found)
    throw new ConfigError(
      `${artifactsDirectory} is not the directory of plans, archives and states of this database: set WINDLASS_ARTIFACTS_URL to the directory that its other control planes use`,
    );
}
