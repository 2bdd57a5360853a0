/** The verbs of `windlass connections`. */
import { readFileSync } from "node:fs";
import { fileErrorText } from "../../common/file-errors.ts";
import { shellWord } from "../../common/shell-word.ts";
import type { Connection, CreateConnection, UpdateConnection } from "../../protocol/connections.ts";
import { webhookOverlapLimit } from "../../protocol/limits.ts";
import type { Api } from "../api/api.ts";
import { withRemedy } from "../api/failures.ts";
import { parseCount, parseWholeNumber } from "../api/pages.ts";
import { teamWords } from "../api/team.ts";
import { readSecrets } from "../configurations/variables.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError, print, say } from "../terminal/output.ts";
import { ago, time, timeAndAge } from "../terminal/times.ts";
import { findIn } from "../teams/elsewhere.ts";
import type { Run } from "../run.ts";

interface FieldOptions {
  readonly apiUrl?: string | undefined;
  readonly appId?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly installationId?: string | undefined;
  readonly cloneCredential?: boolean | undefined;
  readonly statusName?: string | undefined;
  readonly poll?: string | undefined;
}

export interface CreateOptions extends FieldOptions {
  readonly kind: "github-app" | "github" | "gitlab" | "bitbucket" | "forgejo";
  readonly baseUrl?: string | undefined;
}

export interface UpdateOptions extends FieldOptions {
  readonly credential?: true | undefined;
  readonly rename?: string | undefined;
}

export function list({ api, list: show }: Run, connections: readonly Connection[]): void {
  show(
    connections,
    {
      NAME: ({ name }) => name,
      KIND: ({ kind }) => kind,
      HOST: ({ base_url }) => base_url,
      "LAST LOOK": ({ last_poll_at }) => ago(last_poll_at),
      "LAST EVENT": ({ last_event_at }) => ago(last_event_at),
      ERROR: ({ error }) => error?.message,
      ID: ({ id }) => id,
    },
    `There are no connections yet. To make one: windlass connections create --help${teamWords(api.team)}`,
    { spare: ["LAST EVENT", "HOST"] },
  );
}

export const listAll = async (api: Api): Promise<Connection[]> =>
  (await api.call("listConnections")).connections;

/** Returns a connection by name or id. Throws `CliError` if there is none. */
export const connectionOf = ({ api }: Run, name: string): Promise<Connection> =>
  findIn(api, "connection", "connections", listAll, name);

export function show(run: Run, it: Connection): void {
  const { error } = it;
  run.show(it, {
    name: it.name,
    id: it.id,
    kind: it.kind,
    host: it.base_url,
    account: it.account,
    error: error && `${error.message} (since ${time(error.since)})`,
    "status name": it.status_name,
    "looks every": `${it.poll_seconds} seconds`,
    "last look": it.last_poll_at && timeAndAge(it.last_poll_at),
    "last event": it.last_event_at && timeAndAge(it.last_event_at),
    "events address": it.events_url,
    console: `${run.api.server}/connections/${it.id}`,
  });
}

export async function create(run: Run, name: string, options: CreateOptions): Promise<void> {
  const isApp = options.kind === "github-app";
  const { app, ...fields } = await fieldsOf({ ...options, credential: isApp ? undefined : true });
  const { baseUrl } = options;
  const created = await run.api.call("createConnection", {
    body: {
      ...fields,
      name,
      kind: isApp ? "github_app" : options.kind,
      ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
      // The server says what an App needs.
      ...(app ? { app: app as NonNullable<CreateConnection["app"]> } : {}),
    },
  });
  show(run, created);
  if (run.json) return;
  sayWebhook(created, created.webhook_secret);
  const [own, team] = [shellWord(name), teamWords(run.api.team)];
  run.done(
    isApp && options.appId === undefined
      ? `Make the App at the host with this webhook, then: windlass connections update ${own} --app-id ID --private-key FILE --installation-id ID${team}`
      : `Next, what its credential may do: windlass connections check ${own}${team}\nThen let a configuration follow a branch: windlass configurations follow NAME --connection ${own}${team}`,
  );
}

export async function update(run: Run, name: string, options: UpdateOptions): Promise<void> {
  const { rename } = options;
  const body = { ...(await fieldsOf(options)), ...(rename === undefined ? {} : { name: rename }) };
  if (Object.keys(body).length === 0)
    throw new CliError("Nothing to change. For help: windlass connections update --help", 2);
  const { id } = await connectionOf(run, name);
  show(run, await run.api.call("updateConnection", { params: { id }, body }));
}

export async function remove(
  run: Run,
  name: string,
  options: { readonly yes?: true | undefined },
): Promise<void> {
  const { id, name: found } = await connectionOf(run, name);
  await confirm(`Delete the connection "${found}"? Webhooks at the host stay.`, options);
  try {
    await run.api.call("deleteConnection", { params: { id } });
  } catch (error) {
    const end = `Run: windlass configurations follow NAME --end${teamWords(run.api.team)}`;
    throw withRemedy(error, { connection_in_use: end });
  }
  run.done(`The connection "${found}" is deleted.`);
}

export async function check(run: Run, name: string): Promise<void> {
  const { id } = await connectionOf(run, name);
  const found = await run.api.call("checkConnection", { params: { id } });
  if (run.json) return print(JSON.stringify(found, null, 2));
  run.done(`The host answers. Account: ${found.account}`);
  run.list(
    found.permissions,
    {
      PERMISSION: (one) => one.name,
      "": ({ present }) => (present ? "ok" : "missing"),
      "NEEDED FOR": ({ prevents }) => prevents,
    },
    "The host names no permissions.",
  );
  for (const warning of found.warnings) say(`Warning: ${warning}`);
}

export async function rotateSecret(
  run: Run,
  name: string,
  { overlap }: { readonly overlap: string },
): Promise<void> {
  const overlap_seconds = parseWholeNumber("--overlap", overlap, webhookOverlapLimit);
  const found = await connectionOf(run, name);
  const secret = await run.api.call("rotateConnectionSecret", {
    params: { id: found.id },
    body: { overlap_seconds },
  });
  if (run.json) return print(JSON.stringify(secret, null, 2));
  sayWebhook(found, secret.webhook_secret);
  run.done(
    overlap_seconds === 0
      ? "The old one is refused from now on: change it at the host."
      : `Change it at the host within ${overlap_seconds} seconds: until then the old one is accepted too.`,
  );
}

export async function addWebhook(run: Run, name: string, repository: string): Promise<void> {
  const { id } = await connectionOf(run, name);
  await run.api.call("addConnectionWebhook", { params: { id }, body: { repository } });
  run.done(`The host sends the events of ${repository}.`);
}

export async function repositories(run: Run, name: string): Promise<void> {
  const found = await connectionOf(run, name);
  run.list(
    await repositoriesOf(run.api, found),
    {
      NAME: ({ full_name }) => full_name,
      BRANCH: ({ default_branch }) => default_branch,
      PRIVATE: (one) => (one.private ? "yes" : "no"),
      URL: ({ clone_url }) => clone_url,
    },
    `The credential of "${found.name}" reaches no repository. At the host, give it some.`,
  );
}

/** All of them, as the server reads them: up to 1,000 by default. */
export const repositoriesOf = async (api: Api, { id }: Pick<Connection, "id">) =>
  (await api.call("listConnectionRepositories", { params: { id } })).repositories;

/** The only place where the secret is seen: stdout has it, so that it can be piped on. */
function sayWebhook({ events_url }: Connection, secret: string): void {
  say(
    "\nFor the webhook at the host: the address and, shown this once, the secret. Content type: application/json. Without a webhook, changes are seen at the next look.",
  );
  print(`address  ${events_url}`);
  print(`secret   ${secret}`);
  say("");
}

/** Reads secrets from a prompt, stdin or a file, never from the command line. */
async function fieldsOf(
  options: FieldOptions & { readonly credential?: true | undefined },
): Promise<UpdateConnection> {
  const { apiUrl, appId, privateKey, installationId, cloneCredential, statusName, poll } = options;
  const app = {
    ...(appId === undefined ? {} : { id: appId }),
    ...(privateKey === undefined ? {} : { private_key: keyIn(privateKey) }),
    ...(installationId === undefined ? {} : { installation_id: installationId }),
  };
  const wanted = [
    ...(options.credential ? [credential] : []),
    ...(cloneCredential ? [cloneToken] : []),
  ];
  const secrets = await readSecrets(wanted);
  const [token, clone] = [secrets.get(credential), secrets.get(cloneToken)];
  return {
    ...(apiUrl === undefined ? {} : { api_url: apiUrl === "" ? null : apiUrl }),
    ...(token === undefined ? {} : { credential: token }),
    ...(cloneCredential === undefined ? {} : { clone_credential: clone ?? null }),
    ...(statusName === undefined ? {} : { status_name: statusName }),
    ...(poll === undefined ? {} : { poll_seconds: parseCount("--poll", poll) }),
    ...(Object.keys(app).length === 0 ? {} : { app }),
  };
}

const credential = { name: "the token", place: 0 };
const cloneToken = { name: "the token for clones", place: 1 };

function keyIn(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new CliError(`"${file}" cannot be read: ${fileErrorText(error)}`, 2);
  }
}
