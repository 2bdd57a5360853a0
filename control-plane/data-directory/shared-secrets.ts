/** Control planes that share a database need the same secrets, so none is generated. */
import { ConfigError } from "../../common/settings/config-error.ts";
import type { ServerConfig } from "../config.ts";
import type { Store } from "../store/db.ts";
import { findFact, jwtSecretCheck, setFact } from "../store/facts.ts";
import { opensAny, sealCheck } from "./secret-keys.ts";

/** Throws ConfigError if one is not set. */
export function requireSharedSecrets({ jwtSecret, secretKey }: ServerConfig): void {
  const missing = [
    ...(jwtSecret === undefined ? ["CLI_JWT_SECRET"] : []),
    ...(secretKey === undefined ? ["WINDLASS_SECRET_KEY"] : []),
  ];
  if (missing.length > 0)
    throw new ConfigError(
      `${missing.join(" and ")} must be set with PostgreSQL, to the same value for every control plane; create one with "openssl rand -base64 48"`,
    );
}

/**
 * Throws ConfigError if other control planes sign with another secret. One that is alone may
 * change it: everyone must then sign in again. `WINDLASS_SECRET_KEY` is checked for either engine
 * (secret-keys.ts).
 */
export async function checkSharedSecrets(
  { jwtSecret }: ServerConfig,
  store: Store,
  isAlone: boolean,
): Promise<void> {
  const secret = jwtSecret ?? "";
  await store.write(async (tx) => {
    const check = await findFact(tx, jwtSecretCheck);
    if (check !== undefined && opensAny([secret], [check])) return;
    if (check !== undefined && !isAlone)
      throw new ConfigError(
        "CLI_JWT_SECRET is not the one of the control planes that run on this database; set the same, or stop all of them to change it",
      );
    await setFact(tx, jwtSecretCheck, sealCheck(secret));
  });
}
