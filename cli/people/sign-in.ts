/** The device login, similar to RFC 8628: an address to open and six characters to type. */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { call, ProblemError } from "../../protocol/transport.ts";
import { findProfile, notSignedIn, parseServer } from "../api/api.ts";
import { changeAuth, readAuth, type Profile } from "../api/auth-file.ts";
import { tokenVariable } from "../config.ts";
import { toCliError } from "../api/failures.ts";
import { CliError, say } from "../terminal/output.ts";
import type { Run } from "../run.ts";

/** The server accepts five wrong codes per login. */
const maximumTries = 5;

/** Signs in and makes the profile the current one. */
export async function login(run: Run, { openBrowser }: { openBrowser: boolean }): Promise<void> {
  const { settings, signal } = run;
  const auth = readAuth(settings.directory);
  const server = loginServer(run);
  const device_code = randomUUID();
  const address = `${server}/cli/login?device_code=${device_code}`;
  await checkServer(server, signal);
  say(`Open this address, sign in, and approve:\n\n  ${address}\n`);
  if (openBrowser && process.stdin.isTTY) await openInBrowser(address);
  const tokens = await exchange(server, device_code, signal);
  const profile: Profile = {
    server,
    user_email: tokens.user_email,
    access_token: tokens.access_token,
    refresh_token: tokens.refresh_token,
    expires_at: Date.now() + tokens.expires_in * 1000,
  };
  const isSame = (one: Profile | undefined): boolean =>
    one?.server === server && one.user_email === tokens.user_email;
  const existing = Object.entries(auth.profiles).find(([, one]) => one.server === server)?.[0];
  const name = run.profile ?? existing ?? new URL(server).host;
  await changeAuth(settings.directory, (before) => ({
    current: name,
    profiles: {
      ...before.profiles,
      [name]: isSame(before.profiles[name])
        ? { ...profile, team: before.profiles[name]?.team }
        : profile,
    },
  }));
  run.show({ server, user_email: tokens.user_email, profile: name }, {});
  run.done(`Signed in to ${server} as ${tokens.user_email} (profile "${name}").`);
  if (settings.token !== undefined)
    run.done(`But ${tokenVariable(settings)} is set, which takes precedence. Unset it.`);
}

/** Ends the login at the server, then removes the profile, even if the server is unreachable. */
export async function logout(run: Run): Promise<void> {
  const { settings } = run;
  if (settings.token !== undefined && run.profile === undefined)
    throw new CliError(
      `${tokenVariable(settings)} is set, so there is no sign-in to end. Unset ${tokenVariable(settings)} instead.`,
    );
  const server = run.server ?? settings.url;
  const auth = readAuth(settings.directory);
  const found = findProfile(auth, {
    name: run.profile,
    server: server === undefined ? undefined : parseServer(server),
  });
  if (!found) {
    const left = Object.keys(auth.profiles);
    if (server === undefined && left.length > 0) throw new CliError(notSignedIn(settings, left));
    return run.done(`You are not signed in${server === undefined ? "" : ` to ${server}`}.`);
  }
  const [name, profile] = found;
  let trouble: unknown;
  try {
    const { logins } = await run.api.call("listLogins");
    const login = logins.find(({ current }) => current);
    if (login) await run.api.call("revokeLogin", { params: { id: login.id } });
  } catch (error) {
    trouble = error;
  }
  await changeAuth(settings.directory, (before) => {
    const { [name]: _, ...profiles } = before.profiles;
    const current = before.current === name ? null : before.current;
    return { current, profiles };
  });
  run.done(`Signed out at ${profile.server}.`);
  if (trouble !== undefined && !isEnded(trouble))
    say(
      `The server could not end the login, which ends there when it expires: ${(trouble as Error).message}`,
    );
}

/** Whether the server knows no such login any more. */
const isEnded = (error: unknown): boolean =>
  error instanceof CliError && error.cause instanceof ProblemError && error.cause.status === 401;

function loginServer({ server, profile, settings }: Run): string {
  const address = server ?? (profile === undefined ? settings.url : undefined);
  if (address !== undefined) return parseServer(address);
  const auth = readAuth(settings.directory);
  const known =
    profile !== undefined && auth.profiles[profile]
      ? auth.profiles[profile]
      : findProfile(auth, {})?.[1];
  if (known) return known.server;
  throw new CliError(
    "Missing server. Run: windlass login --server https://windlass.example.com",
    2,
  );
}

/** Throws unless a Windlass server responds, before the user opens a page. */
async function checkServer(server: string, signal: AbortSignal): Promise<void> {
  const device_code = randomUUID();
  const body = { device_code, verification_code: "-" };
  try {
    await call(server, "exchangeDeviceLogin", { body }, { signal });
  } catch (error) {
    if (error instanceof ProblemError) {
      if (error.code === "authorization_pending" || error.status === 429) return;
      throw new CliError(
        `${server} is not a Windlass server (status ${error.status}). Check the address.`,
      );
    }
    throw toCliError(error, server);
  }
}

/** Opens the address and ignores errors: the address is also printed. */
async function openInBrowser(address: string): Promise<void> {
  const { default: open } = await import("open");
  const opened = await open(address).catch(() => undefined);
  opened?.on("error", () => undefined);
}

async function exchange(server: string, device_code: string, signal: AbortSignal) {
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: process.stdin.isTTY,
  });
  const answers = lines[Symbol.asyncIterator]();
  const onAbort = (): void => lines.close();
  signal.addEventListener("abort", onAbort);
  // On a terminal, readline handles Ctrl-C itself. Pass it on.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    for (let wrong = 0; wrong < maximumTries;) {
      process.stderr.write("The six characters shown in the browser: ");
      const { value, done } = await answers.next();
      signal.throwIfAborted();
      if (done)
        throw new CliError(
          "No characters were entered. Run windlass login on a terminal, or pipe them in.",
        );
      const code = value.replaceAll(/[\s-]/g, "");
      if (code === "") continue;
      const body = { device_code, verification_code: code.slice(0, 16) };
      try {
        const tokens = await call(server, "exchangeDeviceLogin", { body }, { signal });
        if (tokens) return tokens;
        throw new CliError(`${server} sent an empty response to the sign-in.`);
      } catch (error) {
        const why = refusals[(error instanceof ProblemError && error.code) || ""];
        if (why === undefined) throw toCliError(error, server);
        if (error instanceof ProblemError && error.code === "expired_token")
          throw new CliError(why);
        say(why);
        wrong++;
      }
    }
    throw new CliError("Too many wrong codes. Run windlass login again.");
  } finally {
    signal.removeEventListener("abort", onAbort);
    lines.close();
  }
}

const refusals: Readonly<Record<string, string>> = {
  authorization_pending:
    "The sign-in is not approved yet. Approve it in the browser, then type the characters.",
  invalid_verification_code: "Those are not the characters shown in the browser.",
  expired_token: "The sign-in was already used or took too long. Run windlass login again.",
};
