/** `main.ts` runs a server until a signal, tests run theirs for a while. */
import { isIP, type AddressInfo } from "node:net";
import type { FastifyBaseLogger } from "fastify";
import { every, ticking } from "../common/every.ts";
import { setGlobalDispatcher } from "../common/http-client.ts";
import { dispatcherOf } from "../common/http-proxies.ts";
import { proxiesOf } from "../common/network.ts";
import { hour, minute, second } from "../common/units.ts";
import { version } from "../common/version.ts";
import { buildApp } from "./app.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import type { ServerConfig } from "./config.ts";
import { openContext, type OpenContext } from "./context.ts";
import { roundMilliseconds } from "./domain/retention.ts";
import { endStale } from "./services/approvals/staleness.ts";
import { completeAccounts } from "./services/people/accounts.ts";
import { archiveLogs } from "./services/logs/archiving.ts";
import { logEvents } from "./services/operations/events.ts";
import { settleClock } from "./services/clock.ts";
import { settleRestore } from "./services/storage/restored.ts";
import { sealEnvironments } from "./services/configurations/seal-environments.ts";
import { giveUpCrowded } from "./services/notifications/crowded.ts";
import { deliver } from "./services/notifications/deliver.ts";
import { watchIssuer } from "./services/issuer/issuer.ts";
import { watchTokens, watchWaiting } from "./services/notifications/watch.ts";
import { deleteOldEvents } from "./services/notifications/spread.ts";
import { forgetEvents } from "./services/connections/events.ts";
import { postChanges } from "./services/pull-requests/posting.ts";
import { pollConnections, pollers } from "./services/pull-requests/poll.ts";
import { pruneExpired } from "./services/people/logins.ts";
import { askForTokenHolders } from "./services/people/provider-sessions.ts";
import { forgetOldGroups } from "./services/teams/group-members.ts";
import { scheduleRounds } from "./services/schedules/rounds.ts";
import { recountStates } from "./services/states/recount.ts";
import { finishMoves } from "./services/storage/zone-moves.ts";
import { finishDeletions } from "./services/storage/removals.ts";
import { retainOnce } from "./services/storage/retention.ts";
import { workerWatch } from "./services/workers/watch.ts";
import { setFact } from "./store/facts.ts";

/** How many rounds the watch over workers makes in the period after which a worker is OFFLINE. */
const watchesPerOffline = 30;

/** Milliseconds between two searches for idle connections while the server stops. */
const tidyMilliseconds = 100;

export interface RunningServer {
  readonly context: OpenContext;
  /** The address on which it listens. */
  readonly url: string;
  /** Finishes running requests, ends waiting ones, then closes the store. */
  close(): Promise<void>;
}

export async function startServer(
  config: ServerConfig,
  log: FastifyBaseLogger,
): Promise<RunningServer> {
  requirePublicUrl(config);
  // For what the operator's settings name: sign-in providers.
  if (proxiesOf(config.network)) setGlobalDispatcher(dispatcherOf(config.network));
  const context = await openContext(config);
  await completeAccounts(context);
  if (await settleClock(context)) log.warn("the clock was set back while the server was stopped");
  const unknown = await settleRestore(context);
  if (unknown !== undefined)
    log.warn(
      { jobs_with_unknown_outcome: unknown },
      "restored from a backup: all users must sign in again, and jobs that had not ended are FAILED",
    );
  await sealEnvironments(context);
  if (context.store.isShared && !context.store.hidesOtherSpaces)
    log.warn(
      "row security of the database is off: create the role for people and restart, see docs/postgresql.md#row-security",
    );
  logEvents(context, log);
  const app = await buildApp(context, {
    version: version(),
    log,
    trustedProxies: config.trustedProxies,
    requestSeconds: config.requestSeconds,
  });
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await app.close();
    await context.close();
    throw error;
  }
  const url = urlOf(app.server.address() as AddressInfo);
  if (config.publicUrl === undefined) context.setPublicUrl(url);
  await context.store.write((tx) => setFact(tx, "public_url", context.publicUrl()));
  const stop = new AbortController();
  const { signal } = stop;
  const archiveDelay = config.logArchiveSeconds * 1000;
  const rounds: readonly (readonly [period: number, round: () => unknown, failure: string])[] = [
    [
      Math.max(10, context.periods.offline / watchesPerOffline),
      workerWatch(context, context.clock, (seconds) =>
        log.warn(
          { seconds },
          "the clock of this machine was set; running periods are not affected",
        ),
      ),
      "a round of the worker watch failed",
    ],
    [minute, () => endStale(context, signal), "ending deployments whose plan is stale failed"],
    [second, scheduleRounds(context, signal), "queueing the jobs of schedules failed"],
    [second, () => postChanges(context, signal), "telling code hosts of jobs failed"],
    ...Array.from(
      { length: pollers },
      () =>
        [
          config.codeHostSeconds * 1000,
          () => pollConnections(context, signal),
          "looking at the code hosts of connections failed",
        ] as const,
    ),
    [second, () => deliver(context, signal), "sending notifications failed"],
    [minute, () => giveUpCrowded(context, signal), "giving up old notifications failed"],
    [minute, () => watchWaiting(context, signal), "looking for stalled jobs failed"],
    [hour, () => watchTokens(context), "looking for access tokens that expire failed"],
    [hour, () => deleteOldEvents(context, signal), "deleting old events failed"],
    [hour, () => forgetEvents(context), "forgetting old events of code hosts failed"],
    [
      minute,
      () => watchIssuer(context, signal),
      "reading the new key of the issuer at its jwks_uri failed, so that the old key goes on signing",
    ],
    [hour, () => pruneExpired(context), "removing expired logins and tokens failed"],
    [minute, () => askForTokenHolders(context, signal), "asking providers about groups failed"],
    [hour, () => forgetOldGroups(context, signal), "removing members of old groups failed"],
    [second, () => finishMoves(context, signal), "letting jobs follow a moved zone failed"],
    [
      second,
      () => finishDeletions(context, signal),
      "removing the history of deleted configurations failed",
    ],
    [hour, () => recountStates(context, signal), "counting the resources of older states failed"],
    [
      Math.min(minute, Math.max(10, archiveDelay / 10)),
      async () => {
        const { unreadable } = await archiveLogs(context, archiveDelay, signal);
        if (unreadable > 0)
          log.warn({ logs: unreadable }, "archived logs with later lines cannot be read");
      },
      "archiving the logs of finished jobs failed",
    ],
    [
      roundMilliseconds(context.retention),
      async () => {
        const removed = await retainOnce(context, signal);
        if (Object.values(removed).some((count) => count > 0))
          log.info({ removed }, "retention removed old content");
      },
      "a round of retention failed",
    ],
    [5 * second, () => context.store.boundWal(), "the write-ahead log could not be shortened"],
  ];
  const background = rounds.map(([period, round, failure]) =>
    every(period, round, signal, (error) =>
      log.error({ err: error }, `${failure}; it will be tried again`),
    ),
  );
  return {
    context,
    url,
    close: async () => {
      context.drain();
      const cut = setTimeout(() => {
        log.warn("closing the connections of clients that neither send nor read");
        app.server.closeAllConnections();
      }, config.drainSeconds * 1000);
      // A connection that stays open after its last response would delay the stop.
      const endTidying = ticking(tidyMilliseconds, () => app.server.closeIdleConnections());
      await app.close();
      clearTimeout(cut);
      endTidying();
      stop.abort();
      await Promise.all(background);
      await context.close();
    },
  };
}

/**
 * An address that stands for all interfaces cannot be used in links, and the name of a machine or
 * container is seldom one at which users and runners can reach it.
 */
function requirePublicUrl({ host, publicUrl }: ServerConfig): void {
  if (publicUrl === undefined && isUnspecified(host))
    throw new ConfigError(
      `WINDLASS_PUBLIC_URL must be set if WINDLASS_HOST is ${host}: set it to the address that users and runners use, such as https://windlass.example.com`,
    );
}

/** Whether the address is 0.0.0.0 or ::, in any spelling. */
const isUnspecified = (host: string): boolean =>
  isIP(host) !== 0 && /^(0\.0\.0\.0|[0:]+(0\.0\.0\.0)?)$/.test(host);

const urlOf = ({ address, family, port }: AddressInfo): string =>
  `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
