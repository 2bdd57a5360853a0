/** Opens everything that a control plane needs: data directory, secrets, store, blobs. */
import { join } from "node:path";
import { refuseHalfRestored } from "./data-directory/restore-mark.ts";
import { diskBlobs } from "./blobs/disk.ts";
import { sealedBlobs } from "./blobs/sealed.ts";
import { steadyClock, type Clock } from "./services/operations/clock.ts";
import type { ServerConfig } from "./config.ts";
import { holdData } from "./data-directory/lock.ts";
import { secretBox, type SecretBox, type SecretKeys } from "./domain/secret-box.ts";
import { openSecretKeys } from "./data-directory/secret-keys.ts";
import { keptSecret } from "./data-directory/secrets.ts";
import type { Context } from "./services/context.ts";
import type { Store } from "./store/db.ts";
import type { Release } from "./store/engines/hold.ts";
import { openSqlite } from "./store/engines/sqlite.ts";
import { memoryWakeups } from "./wakeups/memory.ts";

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
  const secrets = join(config.dataDirectory, "secrets");
  const jwtSecret = config.jwtSecret ?? (await keptSecret(secrets, "CLI_JWT_SECRET"));
  const store = await openSqlite(config.databaseFile);
  try {
    const secretKeys = await openSecretKeys(config, store);
    return await openServices(config, { release, jwtSecret, secretKeys, store });
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Opened {
  readonly release: Release;
  readonly jwtSecret: string;
  readonly secretKeys: SecretKeys;
  readonly store: Store;
}

async function openServices(
  config: ServerConfig,
  { release, jwtSecret, secretKeys, store }: Opened,
): Promise<OpenContext> {
  const clock = steadyClock();
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
    wakeups: memoryWakeups(),
    blobs: sealedBlobs(await diskBlobs(config.artifactsDirectory), box("blobs")),
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
    close: async () => {
      await store.close();
      release();
    },
  };
}
