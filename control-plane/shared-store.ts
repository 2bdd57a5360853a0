/** Opens a PostgreSQL database, which other control planes may use, and the wakeups between them. */
import { randomUUID } from "node:crypto";
import type { ServerConfig } from "./config.ts";
import { refuseHalfMoved } from "./data-directory/move-mark.ts";
import { checkSharedDirectory } from "./data-directory/shared-directory.ts";
import { checkSharedSecrets } from "./data-directory/shared-secrets.ts";
import { steadyClock, type Clock } from "./services/clock.ts";
import type { Store } from "./store/db.ts";
import { PostgresChannel } from "./store/engines/postgres-channel.ts";
import { openPostgres } from "./store/engines/postgres.ts";
import { readSchema, requireSchema } from "./store/migrate.ts";
import { findNow } from "./store/operations/now.ts";
import { sharedWakeups } from "./wakeups/shared.ts";
import type { Wakeups } from "./wakeups/wakeups.ts";

export interface OpenedStore {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  close(): Promise<void>;
}

/** Wakeups of all control planes of a database. */
const channelName = "windlass";

/** A PostgreSQL database, which other control planes may use. */
export async function openShared(
  config: ServerConfig,
  postgres: NonNullable<ServerConfig["postgres"]>,
): Promise<OpenedStore> {
  // The listening connection is one of them.
  const store = await openPostgres({ ...postgres, connections: postgres.connections - 1 });
  let channel: PostgresChannel | undefined;
  const close = async () => {
    await channel?.close();
    await store.close();
  };
  try {
    await refuseHalfMoved(store);
    const opened = await PostgresChannel.open(postgres.url, channelName);
    channel = opened;
    // A newer release migrates only while no server that it would break is present on the channel.
    requireSchema(await readSchema(store.read.sql));
    await checkSharedSecrets(config, store, await opened.isAlone());
    await checkSharedDirectory(config, store);
    const wakeups = sharedWakeups(
      {
        send: (payloads) => store.notify(channelName, payloads),
        follow: (events) => opened.follow(events),
      },
      randomUUID(),
    );
    return { store, wakeups, clock: await sharedClock(store), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Control planes must agree on times. Keeps this machine's clock if a query sees no difference. */
async function sharedClock({ read }: Store): Promise<Clock> {
  const before = Date.now();
  const there = await findNow(read);
  const after = Date.now();
  const isSame = before <= there && there <= after;
  return steadyClock(isSame ? after : there + Math.round((after - before) / 2));
}
