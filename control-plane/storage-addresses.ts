/** Parses the addresses of the database and of the directory of files. */
import { resolve } from "node:path";
import { ConfigError } from "../common/settings/config-error.ts";
import { serverSettings } from "../common/settings/server.ts";
import { expected } from "../common/settings/setting.ts";

/** A SQLite file or the address of a PostgreSQL database. A message never repeats a password. */
export function databaseAddress(
  name: "WINDLASS_DATABASE_URL" | "WINDLASS_DATABASE_OWNER_URL",
  text: string | undefined,
): { file?: string; url?: string } {
  if (text === undefined) return {};
  const isOwner = name === "WINDLASS_DATABASE_OWNER_URL";
  if (!isOwner && text.startsWith("sqlite:") && text.length > "sqlite:".length)
    return { file: pathBehind("sqlite:", text) };
  if (!/^postgres(ql)?:\/\//.test(text))
    throw new ConfigError(
      `${name} must be ${expected(serverSettings[name])}` +
        (/[@?]/.test(text) ? "" : `, not ${JSON.stringify(text.slice(0, 200))}`),
    );
  if (/^postgres(ql)?:\/\/[^/?]*,/.test(text))
    throw new ConfigError(
      `${name} must name one host: for a failover, give the database an address that follows the primary (docs/postgresql.md#failover), and percent-encode a comma of the password as %2C`,
    );
  const url = URL.parse(text);
  if (url === null || url.pathname.length < 2)
    throw new ConfigError(
      `${name} must be an address such as postgres://user:password@host:5432/name, with special characters of the password percent-encoded`,
    );
  const mode = url.searchParams.get("sslmode");
  // The driver checks the certificate for "require" too, and warns of it: this says the same.
  if (mode === "require") url.searchParams.set("sslmode", "verify-full");
  else if (mode !== null && !["disable", "no-verify", "verify-full"].includes(mode))
    throw new ConfigError(
      `${name} must have an sslmode of disable, no-verify, require or verify-full`,
    );
  return { url: url.href };
}

/** The path of an address such as `file:/srv`, `file:///srv` or `file:srv`. */
export const pathBehind = (scheme: string, text: string): string =>
  resolve(text.slice(scheme.length).replace(/^\/\/(?=\/)/, ""));
