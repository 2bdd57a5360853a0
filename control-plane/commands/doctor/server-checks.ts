/** Whether the server runs here, and can be reached at its public address. */
import { hostname } from "node:os";
import { finding, ok, type Finding } from "../../../common/doctor/finding.ts";
import { second } from "../../../common/units.ts";
import type { ServerConfig } from "../../config.ts";
import { isDirectoryHeld } from "../../data-directory/lock.ts";
import { localUrl } from "../local-url.ts";

const patience = 10 * second;

/** What another machine has answered, and its clock. */
export interface Answer {
  readonly status: number;
  readonly date: string | null;
  readonly askedAt: number;
}

async function get(url: string): Promise<Answer & { readonly text: string }> {
  const asked = Date.now();
  const response = await fetch(url, {
    signal: AbortSignal.timeout(patience),
    redirect: "manual",
  });
  const text = (await response.text()).slice(0, 200).trim();
  const askedAt = (asked + Date.now()) / 2;
  return { status: response.status, date: response.headers.get("date"), askedAt, text };
}

export async function isServing(config: ServerConfig): Promise<Finding> {
  const url = localUrl(config);
  try {
    const { status, text } = await get(`${url}/readyz`);
    if (status === 200) return ok("server", `runs, and is ready at ${url}`);
    const advice = "read its log, or look whether another program listens there";
    return finding("server", "failed", `${url}/readyz responds ${status}: ${text}`, advice);
  } catch (error) {
    if (config.postgres === undefined && isDirectoryHeld(config.dataDirectory))
      return finding(
        "server",
        "failed",
        `a server uses ${config.dataDirectory}, but does not respond at ${url}: ${reasonOf(error)}`,
        "check WINDLASS_HOST and WINDLASS_PORT",
      );
    return finding("server", "skipped", `does not run at ${url}`);
  }
}

/** `isRunning`: otherwise nothing is to be reached. `answer`: for the check of the clock. */
export async function publicAddress(
  { publicUrl }: ServerConfig,
  isRunning: boolean,
): Promise<{ readonly found: Finding; readonly answer?: Answer }> {
  const check = "address";
  if (publicUrl === undefined)
    return {
      found: finding(check, "skipped", "WINDLASS_PUBLIC_URL is not set: only this machine uses it"),
    };
  if (!isRunning)
    return { found: finding(check, "skipped", `${publicUrl} is checked while the server runs`) };
  try {
    const answer = await get(`${publicUrl}/healthz`);
    if (answer.status !== 200) {
      const advice = "check that the proxy passes all paths to this server";
      const text = `${publicUrl}/healthz responds ${answer.status}`;
      return { found: finding(check, "failed", text, advice), answer };
    }
    const { protocol, hostname: host } = new URL(publicUrl);
    if (protocol === "http:" && !isLoopback(host)) {
      const text = `${publicUrl} responds, unencrypted: credentials can be read on the way`;
      const advice = "put a proxy with TLS in front of the server, and set an https address";
      return { found: finding(check, "warning", text, advice), answer };
    }
    return { found: ok(check, `${publicUrl} responds from here`), answer };
  } catch (error) {
    const reason = reasonOf(error);
    const isCertificate = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO/.test(codeOf(error));
    return {
      found: isCertificate
        ? finding(
            check,
            "failed",
            `${publicUrl}: ${reason}`,
            "correct the certificate of the proxy; for a private authority set SSL_CERT_FILE",
          )
        : finding(
            check,
            "warning",
            `${publicUrl} cannot be reached from ${hostname()}: ${reason}`,
            "try it from another machine: some networks do not lead a machine to its own public address",
          ),
    };
  }
}

const isLoopback = (host: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(host);

const codeOf = (error: unknown): string =>
  error instanceof Error
    ? ((error as NodeJS.ErrnoException).code ?? (error.cause ? codeOf(error.cause) : error.name))
    : "";

const reasonOf = (error: unknown): string => {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message || codeOf(cause) : message;
};

/** Compares with what others say, in whole seconds: they sign and expire tokens by their clocks. */
export function clock(
  others: readonly { readonly name: string; readonly answer: Answer }[],
): Finding {
  const check = "clock";
  const first = others.find(({ answer }) => !Number.isNaN(Date.parse(answer.date ?? "")));
  if (!first) return finding(check, "skipped", "no other machine has said what time it is");
  const seconds = Math.round((first.answer.askedAt - Date.parse(first.answer.date!)) / 1000);
  const off = Math.abs(seconds);
  if (off <= 5) return ok(check, `agrees with that of ${first.name}`);
  const text = `${off} s ${seconds > 0 ? "ahead of" : "behind"} that of ${first.name}`;
  const advice = "synchronise this machine's clock: timedatectl set-ntp true";
  return finding(check, off > 60 ? "failed" : "warning", text, advice);
}
