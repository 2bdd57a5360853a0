/** The device flow as a person goes through it (RFC 8628 in shape): an address to open, six characters to type. */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { endpoints } from "../../protocol/endpoints.ts";
import { call, ProblemError } from "../../protocol/transport.ts";
import { findProfile, serverOf } from "../api/api.ts";
import { changeAuth, readAuth, type Profile } from "../api/auth-file.ts";
import { describeFailure } from "../api/failures.ts";
import { Failure, say } from "../terminal/output.ts";
import type { Run } from "../run.ts";

/** The server counts five wrong ones. */
const triesAtMost = 5;

/** Signs in and makes it the current profile. */
export async function login(run: Run, { openBrowser }: { openBrowser: boolean }): Promise<void> {
  const { settings, signal } = run;
  const auth = readAuth(settings.directory);
  const server = serverToSignInAt(run);
  const device_code = randomUUID();
  const address = `${server}/cli/login?device_code=${device_code}`;
  await reach(server, signal);
  say(`Open this address, sign in, and approve:\n\n  ${address}\n`);
  if (openBrowser && process.stdin.isTTY) await browse(address);
  const tokens = await exchange(server, device_code, signal);
  const profile: Profile = {
    server,
    user_email: tokens.user_email,
    access_token: tokens.access_token,
    refresh_token: tokens.refresh_token,
    expires_at: Date.now() + tokens.expires_in * 1000,
  };
  const existing = Object.entries(auth.profiles).find(([, one]) => one.server === server)?.[0];
  const name = run.profile ?? existing ?? new URL(server).host;
  await changeAuth(settings.directory, (before) => ({
    current: name,
    profiles: { ...before.profiles, [name]: profile },
  }));
  run.show({ server, user_email: tokens.user_email, profile: name }, {});
  run.done(`Signed in at ${server} as ${tokens.user_email} (profile "${name}").`);
}

/** Ends the login at the server, then forgets it here; a server that cannot be reached does not keep it here. */
export async function logout(run: Run): Promise<void> {
  const { settings } = run;
  if (settings.token !== undefined && run.profile === undefined)
    throw new Failure("WINDLASS_TOKEN is set: unset it, there is nothing else to end");
  const server = run.server ?? settings.url;
  const found = findProfile(readAuth(settings.directory), {
    name: run.profile,
    server: server === undefined ? undefined : serverOf(server),
  });
  if (!found) return run.done("You are not signed in.");
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
  if (trouble !== undefined)
    say(
      `The server could not be told: ${(trouble as Error).message}. The login ends there by itself in time.`,
    );
}

function serverToSignInAt({ server, profile, settings }: Run): string {
  const given = server ?? (profile === undefined ? settings.url : undefined);
  if (given !== undefined) return serverOf(given);
  const auth = readAuth(settings.directory);
  const known =
    profile !== undefined && auth.profiles[profile]
      ? auth.profiles[profile]
      : findProfile(auth, {})?.[1];
  if (known) return known.server;
  throw new Failure("which server? windlass login --server https://windlass.example.com", 2);
}

/** Before anybody opens a page: is there a Windlass at all? */
async function reach(server: string, signal: AbortSignal): Promise<void> {
  const device_code = randomUUID();
  const body = { device_code, verification_code: "-" };
  try {
    await call(server, endpoints.exchangeDeviceLogin, { body }, { signal });
  } catch (error) {
    if (error instanceof ProblemError) {
      if (error.code === "authorization_pending" || error.status === 429) return;
      throw new Failure(
        `${server} does not answer like Windlass (${error.status}): is the address right?`,
      );
    }
    throw describeFailure(error, server);
  }
}

/** Failure is silent, and no harm: the address stands on the screen. */
async function browse(address: string): Promise<void> {
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
  // In a terminal readline takes Ctrl-C for itself.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    for (let wrong = 0; wrong < triesAtMost;) {
      process.stderr.write("The six characters shown there: ");
      const { value, done } = await answers.next();
      signal.throwIfAborted();
      if (done)
        throw new Failure(
          "no characters came: run windlass login where you can type, or pipe them in",
        );
      const code = value.replaceAll(/[\s-]/g, "");
      if (code === "") continue;
      const body = { device_code, verification_code: code.slice(0, 16) };
      try {
        const tokens = await call(server, endpoints.exchangeDeviceLogin, { body }, { signal });
        if (tokens) return tokens;
        throw new Failure(`${server} answered nothing to the sign-in`);
      } catch (error) {
        const why = refusals[(error instanceof ProblemError && error.code) || ""];
        if (why === undefined) throw describeFailure(error, server);
        if (error instanceof ProblemError && error.code === "expired_token") throw new Failure(why);
        say(why);
        wrong++;
      }
    }
    throw new Failure("too many wrong characters: run windlass login again");
  } finally {
    signal.removeEventListener("abort", onAbort);
    lines.close();
  }
}

const refusals: Readonly<Record<string, string>> = {
  authorization_pending:
    "That sign-in is not approved yet: approve it in the browser, then type the characters.",
  invalid_verification_code: "Those are not the characters shown there.",
  expired_token: "that sign-in is used up or took too long: run windlass login again",
};
