import { ConfigError } from "../common/settings/config-error.ts";
import { unusedWarnings } from "./config-warnings.ts";
import type { MailSettings } from "./outbound/mail.ts";

/** Reads where mail goes out. Throws `ConfigError`, which does not repeat the credentials. */
export function mailSettings(
  smtp: string | undefined,
  from: string | undefined,
): { readonly mail: MailSettings | undefined; readonly warnings: readonly string[] } {
  if (smtp === undefined) {
    const why = "no mail is sent: set WINDLASS_SMTP_URL to the address of a mail server";
    return { mail: undefined, warnings: unusedWarnings(why, { WINDLASS_MAIL_FROM: from }) };
  }
  if (from === undefined)
    throw new ConfigError("WINDLASS_MAIL_FROM must be set too: it is the sender of the mail");
  const url = URL.parse(smtp);
  const { protocol = "", hostname = "", pathname = "", search = "", hash = "" } = url ?? {};
  const isAddress = /^smtps?:$/.test(protocol) && hostname !== "" && /^\/?$/.test(pathname);
  if (url === null || !isAddress || search !== "" || hash !== "" || !hasReadableLogin(url))
    throw new ConfigError(
      "WINDLASS_SMTP_URL must be an address such as smtps://user:password@mail.example.com, with special characters of the user name and the password percent-encoded",
    );
  return { mail: { url, from }, warnings: [] };
}

function hasReadableLogin({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return username !== "" || password === "";
  } catch {
    return false;
  }
}
