/** The control plane as a signed-in person calls it: which server, whose token, refreshed when it ends. */
import type { Endpoint } from "../../protocol/endpoint.ts";
import { endpointPaths } from "../../protocol/endpoint-paths.ts";
import type { endpoints } from "../../protocol/endpoints.ts";
import {
  call,
  ProblemError,
  send,
  type Called,
  type CallOptions,
  type SendInput,
} from "../../protocol/transport.ts";
import { changeAuth, readAuth, type AuthFile, type Profile } from "./auth-file.ts";
import type { ClientSettings } from "../config.ts";
import { describeFailure } from "./failures.ts";
import { Failure } from "../terminal/output.ts";

type Endpoints = typeof endpoints;
type Input<E extends Endpoint> = Parameters<typeof call<E>>[2];
type Answered<N extends keyof Endpoints> = Exclude<Called<Endpoints[N]>, null>;

export interface Api {
  readonly server: string;
  /** Whose token is used; unknown for `WINDLASS_TOKEN`. */
  readonly email: string | undefined;
  /** Calls an endpoint by its name. Throws `Failure` with what happened and what to do. */
  call<N extends keyof Endpoints>(name: N, input?: Input<Endpoints[N]>): Promise<Answered<N>>;
  /** Like `call`, for bytes in or out; the caller reads the body. */
  send(name: keyof Endpoints, input?: SendInput, options?: CallOptions): ReturnType<typeof send>;
}

export interface ApiOptions {
  readonly settings: ClientSettings;
  readonly server: string | undefined;
  readonly profile: string | undefined;
  readonly signal?: AbortSignal;
}

/** Finds server and token. Throws `Failure` when nobody is signed in there. */
export function openApi({ settings, server, profile, signal }: ApiOptions): Api {
  const credential = credentialOf(settings, server, profile);
  const attempt = async <T>(once: (headers: Record<string, string>) => Promise<T>): Promise<T> => {
    try {
      return await once({ authorization: `Bearer ${await credential.token(false)}` });
    } catch (error) {
      if (!(error instanceof ProblemError && error.status === 401)) throw error;
      // Revoked, or a clock that disagrees with the server's: once more with a new token.
      return once({ authorization: `Bearer ${await credential.token(true)}` });
    }
  };
  const options = signal ? { signal } : {};
  return {
    server: credential.server,
    email: credential.email,
    call: async (name, input) => {
      try {
        const answer = await attempt((headers) =>
          call(credential.server, calledAt(name), (input ?? {}) as never, { headers, ...options }),
        );
        return answer as never;
      } catch (error) {
        throw describeFailure(error, credential.server);
      }
    },
    send: async (name, input = {}, more = {}) => {
      const signals = [signal, more.signal].filter((one) => one !== undefined);
      try {
        return await attempt((headers) =>
          send(credential.server, calledAt(name), input, {
            ...more,
            headers: { ...headers, ...more.headers },
            signal: AbortSignal.any(signals),
          }),
        );
      } catch (error) {
        throw describeFailure(error, credential.server);
      }
    },
  };
}

/** The transport needs method and path; what else an endpoint has is known to the compiler. */
const calledAt = <N extends keyof Endpoints>(name: N): Endpoints[N] =>
  endpointPaths[name] as Endpoints[N];

/** An address as it is kept and compared: without a slash at its end. */
export function serverOf(text: string): string {
  if (!/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(text))
    throw new Failure(
      `"${text}" is not the address of a server, such as https://windlass.example.com`,
      2,
    );
  return text.replace(/\/+$/, "");
}

/** The profile that a command means: by name, else by server, else the current one. */
export function findProfile(
  { current, profiles }: AuthFile,
  { name, server }: { name?: string | undefined; server?: string | undefined },
): [name: string, profile: Profile] | undefined {
  if (name !== undefined) {
    const profile = profiles[name];
    if (!profile)
      throw new Failure(
        `there is no profile "${name}": windlass profiles list shows those there are`,
      );
    return [name, profile];
  }
  if (server !== undefined)
    return Object.entries(profiles).find(([, one]) => one.server === server);
  const profile = current === null ? undefined : profiles[current];
  return profile && current !== null ? [current, profile] : undefined;
}

interface Credential {
  readonly server: string;
  readonly email: string | undefined;
  token(renew: boolean): Promise<string>;
}

function credentialOf(
  settings: ClientSettings,
  option: string | undefined,
  name: string | undefined,
): Credential {
  const given = option ?? (name === undefined ? settings.url : undefined);
  const server = given === undefined ? undefined : serverOf(given);
  if (settings.token !== undefined && name === undefined) {
    // A token goes only to the server that gave it, and only the user knows which one that is.
    if (server === undefined)
      throw new Failure(
        "WINDLASS_TOKEN is set, but not which server gave it: set WINDLASS_URL or --server",
      );
    const { token } = settings;
    return { server, email: undefined, token: async () => token };
  }
  const found = findProfile(readAuth(settings.directory), { name, server });
  if (!found)
    throw new Failure(
      server === undefined
        ? "you are not signed in: windlass login --server https://…"
        : `you are not signed in at ${server}: windlass login --server ${server}`,
    );
  const [profileName, profile] = found;
  if (server !== undefined && profile.server !== server)
    throw new Failure(
      `the profile "${profileName}" belongs to ${profile.server}, not to ${server}`,
      2,
    );
  return {
    server: profile.server,
    email: profile.user_email,
    token: (renew) => tokenOf(settings.directory, profileName, renew),
  };
}

/** A token that ends within this time is renewed before it is used. */
const margin = 30_000;

async function tokenOf(directory: string, name: string, renew: boolean): Promise<string> {
  const used = readAuth(directory).profiles[name];
  if (used && !renew && used.expires_at - Date.now() > margin) return used.access_token;
  const after = await changeAuth(directory, async (before) => {
    const profile = before.profiles[name];
    if (!profile) throw new Failure("you were signed out: windlass login");
    // Another command has renewed it while this one waited for the lock.
    if (profile.access_token !== used?.access_token) return before;
    const pair = await refreshed(profile);
    const next: Profile = {
      ...profile,
      access_token: pair.access_token,
      refresh_token: pair.refresh_token,
      expires_at: Date.now() + pair.expires_in * 1000,
    };
    return { ...before, profiles: { ...before.profiles, [name]: next } };
  });
  return after.profiles[name]?.access_token ?? "";
}

async function refreshed({ server, refresh_token }: Profile) {
  try {
    const pair = await call(server, calledAt("refreshTokens"), { body: { refresh_token } });
    if (pair) return pair;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401)
      throw new Failure(`your sign-in at ${server} has ended: windlass login --server ${server}`);
    throw error;
  }
  throw new Failure(`${server} answered nothing to the renewal of the sign-in`);
}
