/** Sends mail to the operator's SMTP server, which the destination check does not judge. */
import type { Transporter } from "nodemailer";
import { second } from "../../common/units.ts";

export interface MailSettings {
  /** smtp:// or smtps://, with user name and password if the server asks for them. */
  readonly url: URL;
  readonly from: string;
}

export interface Mail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The server has not taken a mail. The message is for people, and has no credential. */
export class MailError extends Error {
  override readonly name = "MailError";
}

export interface Mailer {
  /** Returns the recipients whom the server has refused, if it has taken the mail for others. Throws MailError. */
  send(mail: Mail): Promise<{ readonly refused: readonly string[] }>;
  /** Connects and signs in. Throws MailError. */
  verify(): Promise<void>;
}

/** The whole of one mail, from the connection to the server's receipt. */
const timeout = 20 * second;

export function openMailer(settings: MailSettings, patience = timeout): Mailer {
  let transport: Promise<Transporter> | undefined;
  return {
    async verify() {
      const signal = AbortSignal.timeout(patience);
      try {
        transport ??= open(settings, patience);
        await (await transport).verify();
      } catch (error) {
        throw new MailError(`the mail server ${reason(error, signal)}`, { cause: error });
      }
    },
    async send({ to, messageId, ...mail }) {
      const from = { name: "Windlass", address: settings.from };
      const signal = AbortSignal.timeout(patience);
      try {
        // Loaded by the first mail: most servers send none.
        transport ??= open(settings, patience);
        const addressed = { from, to: [...to], messageId, ...mail, signal };
        const { rejected = [] } = await (await transport).sendMail(addressed);
        return { refused: rejected.map((one: unknown) => String(one)) };
      } catch (error) {
        throw new MailError(`the mail server ${reason(error, signal)}`, { cause: error });
      }
    },
  };
}

async function open({ url }: MailSettings, patience: number): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  const secure = url.protocol === "smtps:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  return createTransport({
    host,
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    secure,
    // Without it, STARTTLS is used where the server offers it, and a failing one is an error.
    requireTLS: user !== "" && !isLoopback(host),
    ...(user === "" ? {} : { auth: { user, pass } }),
    connectionTimeout: patience,
    greetingTimeout: patience,
    socketTimeout: patience,
    dnsTimeout: patience,
    // Messages are ours, and name no file or address to be read.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** A password may be sent in plain text to this machine only. */
const isLoopback = (host: string): boolean => /^(localhost|127\.[\d.]+|::1)$/.test(host);

interface SmtpError extends Error {
  readonly code?: string;
  readonly response?: string;
  readonly responseCode?: number;
}

/** The server's own words only in its replies to a sender or a recipient: others may repeat credentials. */
function reason(error: unknown, signal: AbortSignal): string {
  const { code, response, responseCode } = error as SmtpError;
  if (signal.aborted) return "took too long";
  if (code === "EAUTH") return `refuses the credentials (${responseCode ?? "no reply"})`;
  if (code === "ETLS") return "offers no TLS that can be trusted";
  if (response !== undefined) return `replied: ${response.slice(0, 300)}`;
  return `cannot be reached (${code ?? "no reply"})`;
}
