/** A running control plane: opened, listening, watched. `main.ts` runs one for ever, tests run theirs for a while. */
import { isIP, type AddressInfo } from "node:net";
import type { FastifyBaseLogger } from "fastify";
import { hour, second } from "../common/units.ts";
import { version } from "../common/version.ts";
import { buildApp } from "./app.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import type { ServerConfig } from "./config.ts";
import { openContext, type OpenContext } from "./context.ts";
import { roundMilliseconds } from "./domain/retention.ts";
import { every } from "./every.ts";
import { completeAccounts } from "./services/people/accounts.ts";
import { settleClock } from "./services/operations/clock.ts";
import { settleRestore } from "./services/storage/restored.ts";
import { sealEnvironments } from "./services/configurations/seal-environments.ts";
import { pruneExpired } from "./services/people/logins.ts";
import { finishDeletions } from "./services/storage/removals.ts";
import { retainOnce } from "./services/storage/retention.ts";
import { workerWatch } from "./services/workers/watch.ts";
import { setFact } from "./store/facts.ts";

/** The watch over workers looks this often in the period after which one is OFFLINE. */
const watchesPerOffline = 120;

/** While it stops, idle connections are looked for this often. */
const tidyMilliseconds = 100;

export interface RunningServer {
  readonly context: OpenContext;
  /** The address it really listens at. */
  readonly url: string;
  /** Answers what is under way, ends what is parked, then closes the store. */
  close(): Promise<void>;
}

/** Starts a control plane; resolves when it is ready. */
export async function startServer(
  config: ServerConfig,
  log: FastifyBaseLogger,
): Promise<RunningServer> {
  requirePublicUrl(config);
  const context = await openContext(config);
  await completeAccounts(context);
  if (await settleClock(context))
    log.warn("the clock of this machine was set back while the server was stopped");
  const unknown = await settleRestore(context);
  if (unknown !== undefined)
    log.warn(
      { jobs_with_unknown_outcome: unknown },
      "restored from a backup: everybody signs in again, jobs that were not over count as failed",
    );
  await sealEnvironments(context);
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
  const repeat = (period: number, round: () => unknown, failure: string) =>
    every(period, round, signal, (error) =>
      log.error({ err: error }, `${failure}; it is tried again`),
    );
  const rounds = [
    repeat(
      Math.max(10, context.periods.offline / watchesPerOffline),
      workerWatch(context, context.clock, (seconds) =>
        log.warn({ seconds }, "the clock of this machine was set; periods go on"),
      ),
      "a round of the worker watch failed",
    ),
    repeat(hour, () => pruneExpired(context), "removing expired logins and tokens failed"),
    repeat(second, () => finishDeletions(context, signal), "removing what was deleted failed"),
    repeat(
      roundMilliseconds(context.retention),
      async () => {
        const removed = await retainOnce(context, signal);
        if (Object.values(removed).some((count) => count > 0))
          log.info({ removed }, "retention removed what was old and needed by nothing");
      },
      "a round of retention failed",
    ),
    repeat(5 * second, () => context.store.boundWal(), "the write-ahead log cannot be shortened"),
  ];
  return {
    context,
    url,
    close: async () => {
      context.drain();
      const cut = setTimeout(() => {
        log.warn("some clients still neither send nor read; their connections are cut");
        app.server.closeAllConnections();
      }, config.drainSeconds * 1000);
      // A connection kept open after its last answer would hold up the end.
      const tidy = setInterval(() => app.server.closeIdleConnections(), tidyMilliseconds);
      await app.close();
      clearTimeout(cut);
      clearInterval(tidy);
      stop.abort();
      await Promise.all(rounds);
      await context.close();
    },
  };
}

/** All addresses of a machine or a container give no address for links: its name is seldom one that people and runners can reach. */
function requirePublicUrl({ host, publicUrl }: ServerConfig): void {
  if (publicUrl === undefined && isUnspecified(host))
    throw new ConfigError(
      `WINDLASS_PUBLIC_URL must be set where WINDLASS_HOST is ${host}: to the address that people and runners use, such as https://windlass.example.com`,
    );
}

/** 0.0.0.0 and ::, however they are written. */
const isUnspecified = (host: string): boolean =>
  isIP(host) !== 0 && /^(0\.0\.0\.0|[0:]+(0\.0\.0\.0)?)$/.test(host);

const urlOf = ({ address, family, port }: AddressInfo): string =>
  `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
