/** Opens everything that a control plane needs: data directory, secrets, store, blobs. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { refuseHalfRestored } from "./data-directory/restore-mark.ts";
import { openBlobs } from "./blobs/open.ts";
import { sealedBlobs } from "./blobs/sealed.ts";
import { steadyClock, type Clock } from "./services/operations/clock.ts";
import type { ServerConfig } from "./config.ts";
import { holdData } from "./data-directory/lock.ts";
import { secretBox, type SecretBox, type SecretKeys } from "./domain/secret-box.ts";
import { openSecretKeys } from "./data-directory/secret-keys.ts";
import { checkSharedFolder } from "./data-directory/shared-folder.ts";
import { checkSharedSecrets, requireSharedSecrets } from "./data-directory/shared-secrets.ts";
import { keptSecret } from "./data-directory/secrets.ts";
import type { Context } from "./services/context.ts";
import type { Store } from "./store/db.ts";
import type { Release } from "./store/engines/hold.ts";
import { PostgresChannel } from "./store/engines/postgres-channel.ts";
import { openPostgres } from "./store/engines/postgres.ts";
import { openSqlite } from "./store/engines/sqlite.ts";
import { findNow } from "./store/operations/now.ts";
import { memoryWakeups } from "./wakeups/memory.ts";
import { sharedWakeups } from "./wakeups/shared.ts";
import type { Wakeups } from "./wakeups/wakeups.ts";

export interface OpenContext extends Context {
  readonly clock: Clock;
  /** Ends waiting requests: the first step of a shutdown. */
  drain(): void;
  /** Set when the server listens, if no public address is configured. */
  setPublicUrl(url: string): void;
  close(): Promise<void>;
}

/**
 * Creates what does not exist yet. Throws if the data directory cannot be used, or another process
 * uses it.
 */
export async function openContext(config: ServerConfig): Promise<OpenContext> {
  const release = holdData(config);
  try {
    return await openHeld(config, release);
  } catch (error) {
    release();
    throw error;
  }
}

async function openHeld(config: ServerConfig, release: Release): Promise<OpenContext> {
  refuseHalfRestored(config.dataDirectory);
  if (config.postgres) requireSharedSecrets(config);
  const secrets = join(config.dataDirectory, "secrets");
  const jwtSecret = config.jwtSecret ?? (await keptSecret(secrets, "CLI_JWT_SECRET"));
  const { store, wakeups, clock, close } = config.postgres
    ? await openShared(config, config.postgres)
    : await openOwn(config);
  try {
    const secretKeys = await openSecretKeys(config, store);
    const opened = { jwtSecret, secretKeys, store, wakeups, clock };
    return await openServices(config, opened, async () => {
      await close();
      release();
    });
  } catch (error) {
    await close();
    throw error;
  }
}

interface OpenedStore {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  close(): Promise<void>;
}

/** A SQLite file, which no other process uses. */
async function openOwn(config: ServerConfig): Promise<OpenedStore> {
  const store = await openSqlite(config.databaseFile);
  return { store, wakeups: memoryWakeups(), clock: steadyClock(), close: () => store.close() };
}

/** Wakeups of all control planes of a database. */
const channelName = "windlass";

/** A PostgreSQL database, which other control planes may use. */
async function openShared(
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
    const opened = await PostgresChannel.open(postgres.url, channelName);
    channel = opened;
    await checkSharedSecrets(config, store, await opened.isAlone());
    await checkSharedFolder(config, store);
    const wakeups = sharedWakeups(
      {
        send: (payloads) => store.notify(channelName, payloads),
        follow: (events) => opened.follow(events),
      },
      randomUUID(),
    );
    return { store, wakeups, clock: steadyClock(await findNow(store.read)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Opened extends Omit<OpenedStore, "close"> {
  readonly jwtSecret: string;
  readonly secretKeys: SecretKeys;
}

async function openServices(
  config: ServerConfig,
  { jwtSecret, secretKeys, store, wakeups, clock }: Opened,
  close: () => Promise<void>,
): Promise<OpenContext> {
  const draining = new AbortController();
  const boxes = new Map<string, SecretBox>();
  const box = (purpose: string) => {
    const made = boxes.get(purpose) ?? secretBox(secretKeys, purpose);
    boxes.set(purpose, made);
    return made;
  };
  let publicUrl = config.publicUrl ?? "";
  return {
    store,
    wakeups,
    blobs: sealedBlobs(await openBlobs(config, store), box("blobs")),
    box,
    jwtSecret: new TextEncoder().encode(jwtSecret),
    releaseSecret: config.releaseSecret,
    providers: config.providers,
    signInAllow: config.signInAllow,
    publicUrl: () => publicUrl,
    setPublicUrl: (url) => {
      publicUrl = url;
    },
    periods: {
      heartbeat: config.heartbeatSeconds * 1000,
      offline: config.offlineSeconds * 1000,
      lost: config.lostSeconds * 1000,
    },
    retention: config.retention,
    quotas: config.quotas,
    streamsPerPerson: config.streamsPerPerson,
    clock,
    now: clock.now,
    draining: draining.signal,
    drain: () => draining.abort(),
    close,
  };
}
