/** The API client of a signed-in user: selects the server and the token, and renews the token. */
import { withoutEndSlashes } from "../../common/addresses.ts";
import { mebibyte } from "../../common/units.ts";
import { calledEndpoints } from "../../protocol/called-endpoints.ts";
import type { EndpointName } from "../../protocol/endpoints.ts";
import { teamHeader } from "../../protocol/limits.ts";
import {
  call,
  ProblemError,
  send,
  type Called,
  type CallOptions,
  type Input,
  type SendInput,
} from "../../protocol/transport.ts";
import { sentence } from "../../protocol/words.ts";
import { changeAuth, readAuth, type AuthFile, type Profile } from "./auth-file.ts";
import { tokenVariable, type ClientSettings } from "../config.ts";
import { isCut, toCliError, withRemedy } from "./failures.ts";
import { chooseTeam, isSlug, listTeamsRemedy, teamWords } from "./team.ts";
import { shellWordsOr } from "../../common/shell-word.ts";
import { CliError, say } from "../terminal/output.ts";
import { repeated } from "./repeat.ts";

export interface Api {
  readonly server: string;
  /** The user that the token belongs to; undefined for `WINDLASS_TOKEN`. */
  readonly email: string | undefined;
  /** The id of that user, if the token says it. */
  readonly userId: string | undefined;
  /** Whether `WINDLASS_TOKEN` is an access token, which acts in its own space. */
  readonly isAccessToken: boolean;
  /**
   * The slug of the team that requests name; undefined: the user's or the token's own space; "":
   * the personal space where commands act in a team. After a call by id, the space of that.
   */
  readonly team: string | undefined;
  /** Acts in another space of the user: a team by its slug, or with "" the personal space. */
  inSpace(team: string): Api;
  /** Calls an endpoint by its name. Throws `CliError` with the cause and a remedy. */
  call<N extends EndpointName>(name: N, input?: Input<N>): Promise<Called<N>>;
  /** Like `call`, for binary bodies; the caller reads the response body. */
  send(name: EndpointName, input?: SendInput, options?: CallOptions): ReturnType<typeof send>;
}

export interface ApiOptions {
  readonly settings: ClientSettings;
  readonly server: string | undefined;
  readonly profile: string | undefined;
  /** The slug of a team; empty for the personal space. */
  readonly team?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A list may have all configurations of a space, each with inline files of a megabyte. */
const answerLimit = 256 * mebibyte;

/** Selects the server and the token. Throws `CliError` if the user is not signed in there. */
export function openApi(given: ApiOptions): Api {
  const { settings, server, profile, team: option } = given;
  const { signal = new AbortController().signal } = given;
  const credential = credentialOf(settings, server, profile);
  let team = chooseTeam(option, settings, credential);
  /** What is named by its id may be in another space: later calls act there too. */
  const follow = (name: EndpointName): CallOptions => ({
    onHeaders: ({ [teamHeader]: slug }) => {
      if (typeof slug !== "string" || (slug !== "" && !isSlug(slug))) return;
      if (isPersonal(name) || slug === (team?.slug ?? "")) return;
      team = { slug, remedy: listTeamsRemedy };
    },
  });
  /** A stream of logs connects again by itself, and goes on after its last line. */
  const attempt = <T>(
    name: EndpointName,
    once: (headers: Record<string, string>) => Promise<T>,
  ): Promise<T> =>
    name === "streamJobLogs"
      ? signedIn(name, once)
      : repeated(() => signedIn(name, once), {
          signal,
          isRead: isRead(name),
          onWait: (error) => {
            const message = isCut(error)
              ? `The connection to ${credential.server} was interrupted`
              : (failure(error, name) as Error).message;
            say(`${sentence(message)} Trying again for up to 30 seconds…`);
          },
        });
  const signedIn = async <T>(
    name: EndpointName,
    once: (headers: Record<string, string>) => Promise<T>,
  ): Promise<T> => {
    const used = await credential.token(false);
    const inSpace = team?.slug && !isPersonal(name) ? { [teamHeader]: team.slug } : {};
    try {
      return await once({ authorization: `Bearer ${used}`, ...inSpace });
    } catch (error) {
      if (!(error instanceof ProblemError && error.status === 401)) throw error;
      // The token was revoked, or the clocks differ. Retry once with a new token.
      const renewed = await credential.token(true);
      if (renewed !== used) return once({ authorization: `Bearer ${renewed}`, ...inSpace });
      throw new CliError(
        `${tokenVariable(settings)} is not accepted by ${credential.server}: ${sentence(error.message)} To create an access token where you are signed in: windlass access-tokens create${teamWords(team?.slug)}`,
        1,
        error,
      );
    }
  };
  const failure = (error: unknown, name: EndpointName, input: object = {}): unknown => {
    const acting = teamIn(input) ?? team?.slug;
    const known = withRemedy(toCliError(error, credential.server), {
      team_not_found: (acting === team?.slug && team?.remedy) || listTeamsRemedy,
      ...(isOfJob(name)
        ? { not_found: `To see the jobs: windlass jobs list${teamWords(team?.slug)}` }
        : {}),
    });
    if (!isCut(error) || isRead(name)) return known;
    const { message } = known as Error;
    return new CliError(
      `${message}\nThe request may have been carried out. Check before you repeat it.`,
      1,
      error,
    );
  };
  return {
    server: credential.server,
    email: credential.email,
    userId: credential.userId,
    isAccessToken: credential.isAccessToken,
    get team() {
      return team?.slug;
    },
    inSpace: (slug) => openApi({ ...given, team: slug }),
    call: async (name, input) => {
      try {
        const response = await attempt(name, (headers) =>
          call(credential.server, name, (input ?? {}) as never, {
            ...follow(name),
            headers,
            signal,
            limit: answerLimit,
          }),
        );
        return response as never;
      } catch (error) {
        throw failure(error, name, input);
      }
    },
    send: async (name, input = {}, more = {}) => {
      const signals = more.signal ? [signal, more.signal] : [signal];
      try {
        return await attempt(name, (headers) =>
          send(credential.server, name, input, {
            ...follow(name),
            ...more,
            headers: { ...headers, ...more.headers },
            signal: AbortSignal.any(signals),
          }),
        );
      } catch (error) {
        throw failure(error, name, input);
      }
    },
  };
}

/** The slug of the team that a request names itself, and not by the space in which it acts. */
const teamIn = ({ params, body }: { params?: { slug?: unknown }; body?: unknown }): unknown =>
  params?.slug ?? (body as { team?: unknown } | undefined)?.team;

const isOfJob = (name: EndpointName): boolean => calledEndpoints[name].path.includes("/jobs/{id}");

const isRead = (name: EndpointName): boolean => calledEndpoints[name].method === "GET";

/** Whether an endpoint is about the user: called without a team, it also works for one who left. */
const isPersonal = (name: EndpointName): boolean =>
  /^\/api\/cli\/(teams|logins)\b/.test(calledEndpoints[name].path);

/** Validates a server address and removes trailing slashes. */
export function parseServer(text: string): string {
  if (!/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(text))
    throw new CliError(
      `"${text}" is not a server address. Use one such as https://windlass.example.com`,
      2,
    );
  return withoutEndSlashes(text);
}

/** Says what to do. The current profile may have been signed out while others are left. */
export const notSignedIn = (settings: ClientSettings, profiles: readonly string[]): string =>
  profiles.length === 0
    ? `You are not signed in. ${emptyNote(settings)}Run: windlass login --server https://…`
    : `${emptyNote(settings)}No profile is current. Choose one: windlass profiles use ${shellWordsOr(profiles)}`;

const emptyNote = ({ emptyToken }: ClientSettings): string =>
  emptyToken === undefined
    ? ""
    : `${emptyToken} is set, but has no token: in a pipeline, check the secret that it comes from. `;

/** Returns the profile by name, else by server, else the current one. */
export function findProfile(
  { current, profiles }: AuthFile,
  { name, server }: { name?: string | undefined; server?: string | undefined },
): [name: string, profile: Profile] | undefined {
  if (name !== undefined) {
    const profile = profiles[name];
    if (!profile)
      throw new CliError(
        `There is no profile "${name}". To see your profiles: windlass profiles list`,
        2,
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
  readonly userId: string | undefined;
  readonly isAccessToken: boolean;
  readonly team: string | undefined;
  token(renew: boolean): Promise<string>;
}

function credentialOf(
  settings: ClientSettings,
  option: string | undefined,
  name: string | undefined,
): Credential {
  const address = option ?? (name === undefined ? settings.url : undefined);
  const server = address === undefined ? undefined : parseServer(address);
  if (settings.token !== undefined && name === undefined) {
    // A token may only be sent to the server that issued it, which only the user knows.
    if (server === undefined)
      throw new CliError(
        `${tokenVariable(settings)} is set without a server. Set WINDLASS_URL or pass --server.`,
      );
    const { token } = settings;
    const isAccessToken = token.startsWith("wlt_");
    return {
      server,
      email: undefined,
      userId: undefined,
      isAccessToken,
      team: undefined,
      token: async () => token,
    };
  }
  const found = findProfile(readAuth(settings.directory), { name, server });
  if (!found)
    throw new CliError(
      server === undefined
        ? notSignedIn(settings, Object.keys(readAuth(settings.directory).profiles))
        : `You are not signed in to ${server}. ${emptyNote(settings)}Run: windlass login --server ${server}`,
    );
  const [profileName, profile] = found;
  if (server !== undefined && profile.server !== server)
    throw new CliError(
      `The profile "${profileName}" belongs to ${profile.server}, not to ${server}`,
      2,
    );
  return {
    server: profile.server,
    email: profile.user_email,
    userId: userIn(profile.access_token),
    isAccessToken: false,
    team: profile.team,
    token: (renew) => tokenOf(settings.directory, profileName, renew),
  };
}

/** The token of a login is a JWT. What it says is only sent back to the server, which checks it. */
function userIn(token: string): string | undefined {
  try {
    const text = Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
    const { sub } = JSON.parse(text) as { sub?: unknown };
    return typeof sub === "string" ? sub : undefined;
  } catch {
    return undefined;
  }
}

/** A token that expires within this time (ms) is renewed before it is used. */
const renewalMargin = 30_000;

async function tokenOf(directory: string, name: string, renew: boolean): Promise<string> {
  const used = readAuth(directory).profiles[name];
  if (used && !renew && used.expires_at - Date.now() > renewalMargin) return used.access_token;
  const after = await changeAuth(directory, async (before) => {
    const profile = before.profiles[name];
    if (!profile) throw new CliError("You have been signed out. Run: windlass login");
    // Another command renewed the token while this one waited for the lock.
    if (profile.access_token !== used?.access_token) return before;
    const pair = await refresh(profile);
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

async function refresh({ server, refresh_token }: Profile) {
  try {
    const pair = await call(server, "refreshTokens", { body: { refresh_token } });
    if (pair) return pair;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401)
      throw new CliError(
        `Your login at ${server} has ended. Run: windlass login --server ${server}`,
        1,
        error,
      );
    throw error;
  }
  throw new CliError(`${server} sent an empty response to the token renewal`);
}
