import { minute, second } from "../../../common/units.ts";
import { eventTextLimit } from "../../../protocol/notification-events.ts";
import type { ConnectionCheck } from "../../../protocol/connections.ts";
import type { RepositoryList } from "../../../protocol/repositories.ts";
import type { HostRepository } from "../../code-hosts/code-host.ts";
import { HostError } from "../../code-hosts/host-calls.ts";
import { openHost, type CloneAccess, type OpenHost } from "../../code-hosts/kinds.ts";
import { RefusalError } from "../../domain/refusal.ts";
import {
  findAnyConnection,
  updateConnection,
  type ConnectionRow,
} from "../../store/connections/connections.ts";
import { system } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { recordEvent } from "../events/record.ts";
import { eventsUrl, findRow } from "./connections.ts";
import { openSecrets, sealSecrets } from "./secrets.ts";

/** A page of the host has at most so many repositories; the smallest maximum of all hosts. */
const pageSize = 50;
/** A list without `limit` ends after so many pages, with a cursor. */
const pagesAtOnce = 20;

export function hostOf(
  context: Context,
  row: ConnectionRow,
  { isForRunner = false } = {},
): OpenHost {
  const { app_id, private_key, installation_id, ...secrets } = openSecrets(context, row);
  const { clone_credential = secrets.credential } = secrets;
  const credential = isForRunner ? clone_credential : secrets.credential;
  const app =
    app_id && private_key
      ? {
          id: app_id,
          private_key,
          installation_id,
          keepInstallation: (id: string) => keepInstallation(context, row.id, app_id, id),
        }
      : undefined;
  return openHost(
    context.outbound,
    { kind: row.kind, api: row.api_url },
    { credential, app },
    context.now,
  );
}

/** Unless the connection has another App by now. */
const keepInstallation = (
  context: Context,
  id: string,
  app_id: string,
  installation_id: string,
): Promise<void> =>
  context.store.write(async (tx) => {
    const row = await tx.first(findAnyConnection, { id });
    const secrets = row && openSecrets(context, row);
    if (secrets?.app_id !== app_id) return;
    await updateConnection(tx, id, {
      secrets: sealSecrets(context, id, { ...secrets, installation_id }),
    });
  });

/** What runners clone a repository with; undefined: the host gives none, as the connection says. */
export async function cloneAccessOf(
  context: Context,
  row: ConnectionRow,
  repositoryId: string,
): Promise<CloneAccess | undefined> {
  try {
    return await hostOf(context, row, { isForRunner: true }).cloneAccess(repositoryId);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    await keepError(context, row, error.message);
    return undefined;
  }
}

/** How long a host is left alone that does not answer. */
const silence = minute;

/** For work in the background: asks nothing while the host wants no calls. Throws HostError. */
export async function askPolitely<T>(
  context: Context,
  row: ConnectionRow,
  question: (opened: OpenHost) => Promise<T>,
): Promise<T> {
  const rest = row.quiet_until - context.now();
  if (rest > 0) throw new HostError(row.error ?? "the host wants no calls now", 429, rest);
  return ask(context, row, question);
}

/** Records whether the request worked. Throws HostError. */
export async function ask<T>(
  context: Context,
  row: ConnectionRow,
  question: (opened: OpenHost) => Promise<T>,
): Promise<T> {
  try {
    const answer = await question(hostOf(context, row));
    if (row.error !== null) await keepError(context, row, null);
    return answer;
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    await keepError(context, row, error.message, quietAfter(error));
    throw error;
  }
}

/** For how many milliseconds nothing is asked of the host after an error. */
export const quietAfter = ({ status, retryAfter }: HostError): number =>
  retryAfter === undefined ? (status === 0 ? silence : 0) : Math.max(retryAfter, second);

/** Keeps what went wrong; `since` stays while the message is the same. */
async function keepError(
  { store, now }: Context,
  row: ConnectionRow,
  error: string | null,
  quiet = 0,
): Promise<void> {
  const at = now();
  const change = {
    ...(error === row.error ? {} : { error, error_since: error === null ? null : at }),
    ...(quiet > 0 ? { quiet_until: at + quiet } : {}),
  };
  if (Object.keys(change).length === 0) return;
  await store.write(async (tx) => {
    const before = await tx.first(findAnyConnection, { id: row.id });
    await updateConnection(tx, row.id, change);
    if (!before || (before.error === null) === (error === null)) return;
    const connection = { id: row.id, name: before.name };
    const data = {
      connection,
      ...(error === null ? {} : { reason: error.slice(0, eventTextLimit) }),
    };
    const type = error === null ? "connection.mended" : "connection.broken";
    const about = { owner: row.owner_id, about: row.id, by: system };
    await recordEvent(tx, at, { type, ...about, data });
  });
}

/** A HostError as a refusal of a person's request. */
export async function refusing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof HostError) throw new RefusalError("host_unavailable", error.message);
    throw error;
  }
}

export async function checkConnection(
  context: Context,
  user: UserCaller,
  id: string,
): Promise<ConnectionCheck> {
  const row = await findRow(context.store.read, user, id);
  const { account, permissions } = await refusing(ask(context, row, ({ host }) => host.check()));
  await context.store.write((tx) => updateConnection(tx, row.id, { account }));
  const { clone_credential } = openSecrets(context, row);
  const hasShared = row.kind !== "github_app" && clone_credential === undefined;
  return {
    account,
    permissions: [...permissions],
    warnings: hasShared
      ? ["runners receive this credential to clone: set clone_credential to one that may only read"]
      : [],
  };
}

/** Throws HostError, which says nothing about the connection: it may lack this permission alone. */
export async function registerWebhook(
  context: Context,
  row: ConnectionRow,
  repository: HostRepository,
): Promise<void> {
  const { webhook_secret = "" } = openSecrets(context, row);
  await hostOf(context, row).host.addWebhook(
    repository,
    eventsUrl(context, row.id),
    webhook_secret,
  );
}

export const webhookHelp = (context: Context, { id }: ConnectionRow, full_name: string): string =>
  `Add a webhook to ${full_name} by hand: address ${eventsUrl(context, id)}, content type application/json, the connection's secret, events for pushes, pull requests and comments`;

export async function addWebhook(
  context: Context,
  user: UserCaller,
  id: string,
  full_name: string,
): Promise<void> {
  const row = await findRow(context.store.read, user, id);
  try {
    const repository = await ask(context, row, ({ host }) => host.repository({ full_name }));
    await registerWebhook(context, row, repository);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    if (error.status === 403 || error.status === 404)
      throw new RefusalError(
        "webhook_not_allowed",
        `${error.message}. ${webhookHelp(context, row, full_name)}`,
      );
    throw new RefusalError("host_unavailable", error.message);
  }
}

export async function listRepositories(
  context: Context,
  user: UserCaller,
  id: string,
  { limit, cursor }: { limit?: number; cursor?: string },
): Promise<RepositoryList> {
  const row = await findRow(context.store.read, user, id);
  let page = cursor === undefined ? 1 : Number(Buffer.from(cursor, "base64url").toString());
  if (!Number.isSafeInteger(page) || page < 1) throw new RefusalError("invalid_cursor");
  const size = Math.min(limit ?? pageSize, pageSize);
  return refusing(
    ask(context, row, async ({ host }) => {
      const repositories = [];
      for (let pages = limit === undefined ? pagesAtOnce : 1; pages > 0; pages -= 1) {
        const { items, next } = await host.repositories(page, size);
        repositories.push(...items);
        if (next === null) return { repositories, next_cursor: null };
        page = next;
      }
      return { repositories, next_cursor: Buffer.from(String(page)).toString("base64url") };
    }),
  );
}
