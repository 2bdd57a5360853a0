/** Opens everything that a control plane needs: data directory, secrets, store, blobs. */
import { join } from "node:path";
import { refuseHalfMoved } from "./data-directory/move-mark.ts";
import { refuseHalfRestored } from "./data-directory/restore-mark.ts";
import { openBlobs } from "./blobs/open.ts";
import { sealedBlobs } from "./blobs/sealed.ts";
import { steadyClock, type Clock } from "./services/clock.ts";
import type { ServerConfig } from "./config.ts";
import { holdData } from "./data-directory/lock.ts";
import { secretBox, type SecretBox, type SecretKeys } from "./domain/secret-box.ts";
import { openSecretKeys } from "./data-directory/secret-keys.ts";
import { requireSharedSecrets } from "./data-directory/shared-secrets.ts";
import { keptSecret } from "./data-directory/secrets.ts";
import { openMailer } from "./outbound/mail.ts";
import { Outbound } from "./outbound/outbound.ts";
import type { Context } from "./services/context.ts";
import type { OpenedStore } from "./shared-store.ts";
import type { Release } from "./store/engines/process-locks.ts";
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

/** Throws if the data directory cannot be used or another process uses it. */
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
    ? // Loaded only where it is used.
      await (await import("./shared-store.ts")).openShared(config, config.postgres)
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

/** A SQLite file, which no other process uses. */
async function openOwn(config: ServerConfig): Promise<OpenedStore> {
  const store = await openSqlite(config.databaseFile);
  const close = () => store.close();
  try {
    await refuseHalfMoved(store);
  } catch (error) {
    await close();
    throw error;
  }
  return { store, wakeups: memoryWakeups(), clock: steadyClock(), close };
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
  const outbound = new Outbound(config.outboundAllow, undefined, config.network);
  let publicUrl = config.publicUrl ?? "";
  return {
    store,
    wakeups,
    blobs: sealedBlobs(await openBlobs(config, store), box("blobs")),
    box,
    jwtSecret: new TextEncoder().encode(jwtSecret),
    releaseSecret: config.releaseSecret,
    providers: config.providers,
    oidc: config.oidc,
    outbound,
    mail: config.mail ? openMailer(config.mail) : null,
    signInAllow: config.signInAllow,
    teamCreators: config.teamCreators,
    operators: config.operators,
    publicUrl: () => publicUrl,
    issuerUrl: () => config.issuerUrl ?? publicUrl,
    setPublicUrl: (url) => {
      publicUrl = url;
    },
    periods: {
      heartbeat: config.heartbeatSeconds * 1000,
      offline: config.offlineSeconds * 1000,
      lost: config.lostSeconds * 1000,
      lift: config.queueLiftSeconds * 1000,
    },
    retention: config.retention,
    quotas: config.quotas,
    streamsPerPerson: config.streamsPerPerson,
    clock,
    now: clock.now,
    draining: draining.signal,
    drain: () => draining.abort(),
    close: async () => {
      await outbound.close();
      await close();
    },
  };
}
