/** The settings of the control plane. */
import { logging } from "./logging.ts";
import { authorities, proxies } from "./network.ts";
import { moreOidc, oidc } from "./oidc.ts";
import { quotas } from "./quotas.ts";
import type { Settings } from "./setting.ts";
import { storage } from "./storage.ts";

const key = { type: "secret", minBytes: 32 } as const;
const keptKey = "generated at the first start, kept in the data directory";

export const controlPlane = {
  WINDLASS_HOST: {
    type: "text",
    default: "127.0.0.1",
    pattern: /^[\w.:%-]+$/,
    expected: "a host name or an address of this machine",
    help: "the address to listen on",
  },
  WINDLASS_PORT: {
    type: "integer",
    min: 0,
    max: 65_535,
    default: 8080,
    help: "the port to listen on; 0 picks a free one",
  },
  WINDLASS_PUBLIC_URL: {
    type: "url",
    // Pages link to paths such as /jobs, from the root of the host.
    hasNoPath: true,
    otherwise: "derived from the host and the port",
    help: "the address that people and runners use",
    details:
      "Required when `WINDLASS_HOST` is `0.0.0.0` or `::`, as in the image. The server itself speaks plain HTTP: for an https address, put a reverse proxy in front of it",
  },
  WINDLASS_ISSUER_URL: {
    type: "url",
    otherwise: "the public address",
    help: "the address at which clouds read the keys of the tokens for jobs",
    details:
      "The issuer (`iss`) of the tokens with which jobs sign in to AWS, Google Cloud, Azure and Vault. If the clouds cannot reach the server, name a place that they reach, such as a bucket, and put the files of `windlass server issuer export` there. AWS needs https without a port. A change makes all trust policies void",
  },
  WINDLASS_TRUSTED_PROXIES: {
    type: "list",
    expected: "addresses or networks such as 10.0.0.0/8",
    help: "proxies whose X-Forwarded-* headers are trusted",
    details:
      "Name every proxy. Behind a proxy that is not named, all clients share its address, so one client that guesses codes exhausts the rate limit of all others. " +
      "The log warns once when such a header arrives from an address that is not listed",
  },
  WINDLASS_OUTBOUND_ALLOW: {
    type: "list",
    expected: "hosts, addresses or networks such as 10.0.0.0/8",
    otherwise: "only https and public addresses",
    help: "private places that connections of users may reach",
    details:
      "Judges addresses that users name, such as code hosts; never the operator's own settings. A place that is named may also be reached by plain http. Through a proxy, names and addresses are judged as they are written, because the proxy resolves names: it must itself refuse what users may not reach",
  },
  ...proxies,
  SSL_CERT_FILE: {
    ...authorities,
    details:
      "The server uses the proxies and these authorities for sign-in providers, code hosts and S3; PostgreSQL is reached without a proxy",
  },
  WINDLASS_SMTP_URL: {
    type: "secret",
    expected: "an address such as smtps://user:password@mail.example.com",
    otherwise: "no mail is sent",
    help: "the mail server for notifications by e-mail",
    details:
      "`smtp://` uses TLS where the server offers it, and must with a password unless the server is this machine; `smtps://` begins with TLS. Ports: 587 and 465. See [E-mail](docs/notifications.md#e-mail)",
  },
  WINDLASS_MAIL_FROM: {
    type: "text",
    maxLength: 254,
    pattern: /^[^\s@<>]+@[^\s@<>]+$/,
    expected: "an e-mail address",
    help: "the sender of that mail",
  },
  WINDLASS_DATA_DIR: {
    type: "path",
    otherwise:
      "systemd's state directory, else .windlass in the current directory if Windlass runs from a checkout, else /var/lib/windlass",
    help: "the directory of the database, files and keys",
    details: "Only one server can use it at a time: it holds a lock on `server.lock` in it",
  },
  ...storage,
  CLI_JWT_SECRET: { ...key, otherwise: keptKey, help: "signs sessions and tokens" },
  WINDLASS_SECRET_KEY: {
    ...key,
    otherwise: keptKey,
    help: "encrypts sensitive variables, states, plans, archives and provider tokens",
    details:
      "Without the key they are lost. The server does not start with a key that does not match its data",
  },
  WINDLASS_SECRET_KEY_OLD: {
    type: "secrets",
    minBytes: 32,
    help: "earlier keys, which still decrypt",
    details: "In a file, one on each line. See [Changing the key](docs/backup.md#changing-the-key)",
  },
  RELEASE_API_SECRET: {
    ...key,
    otherwise: "none, and these requests are refused",
    help: "lets a pipeline call POST /api/releases/worker and POST /api/runners/register",
    details:
      "After ten wrong secrets in a minute, requests from the same address get 429, even with the right secret",
  },
  WINDLASS_REQUEST_SECONDS: {
    type: "number",
    unit: "seconds",
    min: 0.1,
    max: 300,
    default: 60,
    help: "how long the headers of a request, and a JSON body, may take to arrive",
    details: "See [Slow clients](#slow-clients)",
  },
  WINDLASS_DRAIN_SECONDS: {
    type: "number",
    unit: "seconds",
    min: 0.01,
    max: 3600,
    default: 25,
    help: "how long running requests may take after SIGTERM",
    details:
      "Then their connections are closed. The stop timeout (`TimeoutStopSec`, or a container's) must be longer",
  },
  WINDLASS_HEARTBEAT_SECONDS: {
    type: "number",
    unit: "seconds",
    min: 0.01,
    max: 3600,
    default: 30,
    isInternal: true,
    help: "how often a runner sends a heartbeat; only for tests",
  },
  WINDLASS_OFFLINE_SECONDS: {
    type: "number",
    unit: "seconds",
    min: 0.02,
    max: 86_400,
    default: 60,
    isInternal: true,
    help: "how long after its last heartbeat a worker becomes offline; only for tests",
  },
  WINDLASS_LOST_SECONDS: {
    type: "number",
    unit: "seconds",
    min: 0.01,
    max: 86_400,
    default: 30,
    isInternal: true,
    help: "how long after a worker became offline its jobs count as lost; only for tests",
  },
  ...logging,
} as const satisfies Settings;

const credential = { type: "secret", minBytes: 1, otherwise: "off" } as const;
const selfManaged = (example: string) =>
  ({ type: "url", example, otherwise: "the provider's public host" }) as const;

export const providers = {
  GITHUB_CLIENT_ID: {
    ...credential,
    help: "the id of a GitHub OAuth app",
    details:
      "It asks for the scope `user:email` at sign-in, and for `repo` only when a signed-in person connects GitHub in the settings; GitHub has no narrower scope that lists private repositories",
  },
  GITHUB_CLIENT_SECRET: { ...credential, help: "the secret of that app" },
  GITHUB_BASE_URL: {
    ...selfManaged("https://github.example.com"),
    help: "the address of a GitHub Enterprise Server",
    details: "Its API is at `/api/v3`",
  },
  GITLAB_CLIENT_ID: {
    ...credential,
    help: "the id of a GitLab application",
    details: "It needs the scopes `openid email read_api`",
  },
  GITLAB_CLIENT_SECRET: { ...credential, help: "the secret of that application" },
  GITLAB_BASE_URL: {
    ...selfManaged("https://gitlab.example.com"),
    help: "the address of a self-managed GitLab",
    details: "Its API is at `/api/v4`",
  },
  BITBUCKET_CLIENT_ID: {
    ...credential,
    help: "the id of a Bitbucket Cloud consumer",
    details: "It needs the scopes `account email repository`",
  },
  BITBUCKET_CLIENT_SECRET: { ...credential, help: "the secret of that consumer" },
  BITBUCKET_BASE_URL: {
    ...selfManaged("https://bitbucket.example.com"),
    help: "the address of another Bitbucket host",
  },
  GOOGLE_CLIENT_ID: {
    ...credential,
    help: "the id of a Google web client",
    details:
      "It needs the scopes `openid email`. It is for sign-in only; Google hosts no repositories",
  },
  GOOGLE_CLIENT_SECRET: { ...credential, help: "the secret of that client" },
  GOOGLE_BASE_URL: {
    ...selfManaged("https://accounts.example.com"),
    help: "the address of another issuer in place of Google",
  },
  WINDLASS_SIGN_IN_ALLOW: {
    type: "list",
    expected:
      "addresses, @domains, github:org/NAME, gitlab:group/PATH, oidc:group/NAME, oidc:* or *",
    otherwise: "only people who were invited by a link",
    help: "who may sign in with a provider",
    details: "See [Who may sign in](#who-may-sign-in)",
  },
  WINDLASS_OPERATORS: {
    type: "list",
    expected: "addresses",
    otherwise: "no one",
    help: "who sees on the page /operator who is signed in, and may sign out and block people",
    details: "See [Who is signed in](#who-is-signed-in)",
  },
  WINDLASS_TEAM_CREATORS: {
    type: "list",
    expected: "addresses, @domains or *",
    otherwise: "every user",
    help: "who may create teams",
    details:
      "The first user who signs in with a link of `windlass server login-link` always may. Everyone may join a team by an invitation",
  },
} as const satisfies Settings;

export const retention = {
  WINDLASS_RETENTION_LOG_DAYS: {
    type: "retention",
    default: 90,
    help: "how long a log and a debug log are kept after the end of their job",
    details:
      "Counted from the last line of the log, if that came later. Kept longer: a plan's log while its artifact is kept, and the log of a job that left its state locked",
  },
  WINDLASS_RETENTION_ARTIFACT_DAYS: {
    type: "retention",
    default: 30,
    help: "how long a plan artifact is kept after the end of its job, and an uploaded archive after its last use",
    details:
      "An artifact is in use until every job that names the plan has ended; an archive while a configuration, its last deployment, a queued or running job, or a worker's deploy configuration names it, and an upload counts as a use. A plan whose artifact or archive is removed cannot be deployed: the request is refused and says so",
  },
  WINDLASS_RETENTION_STATE_DAYS: {
    type: "retention",
    default: 365,
    help: "how long a version of a managed state is kept",
    details: "The 100 newest versions of each state are kept, however old",
  },
} as const satisfies Settings;

export const serverSettings = {
  ...controlPlane,
  ...providers,
  ...oidc,
  ...moreOidc,
  ...retention,
  ...quotas,
};
