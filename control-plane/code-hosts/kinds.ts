/** The kinds of connections: where each host is, how it is asked, and how its events are read. */
import type { Outbound } from "../outbound/outbound.ts";
import { bitbucket, bitbucketEvents } from "./bitbucket.ts";
import type { CodeHost, EventKind } from "./code-host.ts";
import { forgejo, forgejoEvents } from "./forgejo.ts";
import {
  appToken,
  checkApp,
  installationToken,
  newApp,
  onlyInstallation,
  setAppWebhook,
  type App,
} from "./github-app.ts";
import { github, githubEvents, githubHeaders } from "./github.ts";
import { gitlab, gitlabEvents } from "./gitlab.ts";
import { HostCalls, HostError } from "./host-calls.ts";

export const kinds = ["github_app", "github", "gitlab", "bitbucket", "forgejo"] as const;
export type Kind = (typeof kinds)[number];

/** The public hosts; Forgejo has none. */
const publicHosts: Readonly<Partial<Record<Kind, readonly [web: string, api: string]>>> = {
  github_app: ["https://github.com", "https://api.github.com"],
  github: ["https://github.com", "https://api.github.com"],
  gitlab: ["https://gitlab.com", "https://gitlab.com/api/v4"],
  bitbucket: ["https://bitbucket.org", "https://api.bitbucket.org/2.0"],
};
/** Where a self-managed host has its API. */
const apiPaths: Readonly<Partial<Record<Kind, string>>> = {
  github_app: "/api/v3",
  github: "/api/v3",
  gitlab: "/api/v4",
  forgejo: "/api/v1",
};

/** The addresses of a host; null if the kind needs, or does not support, an address of its own. */
export function addressesOf(
  kind: Kind,
  base: string | undefined,
  api: string | undefined,
): { readonly base: string; readonly api: string } | null {
  const known = publicHosts[kind];
  if (base === undefined || base === known?.[0])
    return known ? { base: known[0], api: api ?? known[1] } : null;
  const path = apiPaths[kind];
  return path === undefined ? null : { base, api: api ?? base + path };
}

/** How to fetch the head of a pull request, also of a fork; Bitbucket has no such reference. */
export function headRef(kind: Kind, number: number): string | undefined {
  if (kind === "bitbucket") return undefined;
  return kind === "gitlab" ? `refs/merge-requests/${number}/head` : `refs/pull/${number}/head`;
}

const commitPaths: Readonly<Record<Kind, string>> = {
  github_app: "commit",
  github: "commit",
  gitlab: "-/commit",
  bitbucket: "commits",
  forgejo: "commit",
};

/** The page of a commit. */
export const commitUrl = (kind: Kind, base: string, repository: string, commit: string): string =>
  `${base}/${repository}/${commitPaths[kind]}/${commit}`;

export const eventKinds: Readonly<Record<Kind, EventKind>> = {
  github_app: githubEvents,
  github: githubEvents,
  gitlab: gitlabEvents,
  bitbucket: bitbucketEvents,
  forgejo: forgejoEvents,
};

export interface OpenApp extends App {
  readonly installation_id?: string | undefined;
  /** Called when the host names the installation that was not known yet. */
  keepInstallation?(id: string): Promise<void>;
}

export interface Credentials {
  readonly credential?: string | undefined;
  readonly app?: OpenApp | undefined;
}

/** What runners clone with. */
export interface CloneAccess {
  readonly username: string;
  readonly token: string;
  /** RFC 3339; undefined: it is not known. */
  readonly expires_at?: string;
}

export interface OpenHost {
  readonly host: CodeHost;
  /** For one repository, where the host can limit it to that. */
  cloneAccess(repositoryId: string): Promise<CloneAccess>;
}

/** Opens a host with its credential. `now`: epoch milliseconds. */
export function openHost(
  outbound: Outbound,
  { kind, api }: { readonly kind: Kind; readonly api: string },
  { credential = "", app }: Credentials,
  now: () => number,
): OpenHost {
  const calls = (headers: () => Promise<Record<string, string>>) =>
    new HostCalls(outbound, api, headers);
  const bearer = () => Promise.resolve({ authorization: `Bearer ${credential}` });
  const byToken = (host: CodeHost, username: string): OpenHost => ({
    host,
    cloneAccess: () => Promise.resolve({ username, token: credential }),
  });
  switch (kind) {
    case "github":
      return byToken(
        github(
          calls(() => Promise.resolve(githubHeaders(credential))),
          {},
        ),
        "x-access-token",
      );
    case "github_app":
      return openApp(calls, app, now);
    case "gitlab":
      return byToken(gitlab(calls(bearer)), "oauth2");
    case "bitbucket":
      return byToken(bitbucket(calls(bearer)), "x-token-auth");
    case "forgejo":
      return byToken(
        forgejo(calls(() => Promise.resolve({ authorization: `token ${credential}` }))),
        "windlass",
      );
  }
}

/** Without a credential: the code is one. */
export const exchangeAppCode = (outbound: Outbound, api: string, code: string) =>
  newApp(new HostCalls(outbound, api, () => Promise.resolve({})), code);

function openApp(
  calls: (headers: () => Promise<Record<string, string>>) => HostCalls,
  app: Credentials["app"],
  now: () => number,
): OpenHost {
  const asApp = calls(async () => {
    if (!app) throw new HostError("the App is not known yet: finish its set-up");
    return githubHeaders(await appToken(app, now()));
  });
  let known = app?.installation_id;
  const installation = async (): Promise<string> => {
    if (known !== undefined) return known;
    known = await onlyInstallation(asApp);
    await app?.keepInstallation?.(known);
    return known;
  };
  let token: { token: string; expires_at: string } | undefined;
  const asInstallation = calls(async () => {
    if (!token || Date.parse(token.expires_at) - now() < 300_000)
      token = await installationToken(asApp, await installation());
    return githubHeaders(token.token);
  });
  const host = github(asInstallation, { appId: app?.id });
  return {
    host: {
      ...host,
      check: async () => {
        const found = await checkApp(asApp);
        await installation();
        return found;
      },
      // An App has one webhook, for all its repositories.
      addWebhook: (_, url, secret) => setAppWebhook(asApp, url, secret),
    },
    cloneAccess: async (repository) => {
      const limited = await installationToken(asApp, await installation(), repository);
      return { username: "x-access-token", ...limited };
    },
  };
}
