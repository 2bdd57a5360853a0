/**
 * The keys with which the issuer signs. Each is a fact of the store, whose name counts up: of
 * control planes that make one at the same time, the first wins and the others use its key.
 */
import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import { calculateJwkThumbprint, exportJWK, importPKCS8, type CryptoKey } from "jose";
import { nextKey, publishedKeys, signingKey, unreadKey } from "../../domain/issuer-keys.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { sealAgain, type SecretBox, type SecretKeys } from "../../domain/secret-box.ts";
import type { Queries, Store } from "../../store/db.ts";
import {
  addFact,
  findFacts,
  issuerKeysFrom,
  issuerKeysTo,
  removeFact,
  setFact,
} from "../../store/facts.ts";
import type { Context } from "../context.ts";

const purpose = "issuer";
/** What all clouds accept; 3072 would double the time of a signature. */
const modulusLength = 2048;

/** The public key, as it is published. */
export interface IssuerKey {
  readonly kty: string;
  readonly n: string;
  readonly e: string;
  readonly alg: string;
  readonly use: string;
  readonly kid: string;
}

interface StoredKey {
  readonly jwk: IssuerKey;
  /** PKCS 8, sealed for the name of the fact. */
  readonly sealed: string;
  readonly created_at: number;
  readonly read_at: number | null;
}
type NamedKey = StoredKey & { readonly name: string };

const nameOf = (count: number): string => `${issuerKeysFrom}${String(count).padStart(8, "0")}`;

/** The oldest first. */
async function readKeys(queries: Queries): Promise<NamedKey[]> {
  const facts = await findFacts(queries, issuerKeysFrom, issuerKeysTo);
  return facts.map(({ name, value }) => ({ name, ...(JSON.parse(value) as StoredKey) }));
}

type Keeping = Pick<Context, "store" | "box" | "now">;

/** One at a time for each store: making a key takes a core a tenth of a second. */
const making = new WeakMap<Store, Promise<NamedKey[]>>();

/** Makes the first key if there is none. */
async function keysOf(context: Keeping): Promise<NamedKey[]> {
  const { store } = context;
  const keys = await readKeys(store.read);
  if (keys.length > 0) return keys;
  const made =
    making.get(store) ??
    addKey(context, []).finally(() => {
      making.delete(store);
    });
  making.set(store, made);
  return made;
}

async function addKey({ store, box, now }: Keeping, before: NamedKey[]): Promise<NamedKey[]> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)("rsa", { modulusLength });
  const { kty = "", n = "", e = "" } = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint({ kty, n, e });
  const name = nameOf(Number(before.at(-1)?.name.slice(issuerKeysFrom.length) ?? 0) + 1);
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  const key: StoredKey = {
    jwk: { kty, n, e, alg: "RS256", use: "sig", kid },
    sealed: box(purpose).seal(Buffer.from(pem), name).toString("base64"),
    created_at: now(),
    read_at: null,
  };
  await store.write((tx) => addFact(tx, name, JSON.stringify(key)));
  return readKeys(store.read);
}

/** Anyone may read keys, so that makes none: before the first token none is needed. */
export async function listPublishedKeys({ store, now }: Keeping): Promise<IssuerKey[]> {
  return publishedKeys(await readKeys(store.read), now()).map(({ jwk }) => jwk);
}

/** Makes the first key if there is none, so that clouds know it before the first token. */
export async function makeFirstKey(context: Keeping): Promise<void> {
  await keysOf(context);
}

/** Opened private keys by what they are sealed as: opening one takes as long as a signature. */
const opened = new Map<string, Promise<CryptoKey>>();
const openedLimit = 8;

export async function currentKey(
  context: Keeping,
): Promise<{ readonly kid: string; readonly key: CryptoKey }> {
  const found = signingKey(await keysOf(context), context.now());
  if (!found) throw new Error("the issuer has no key that signs");
  const { name, sealed, jwk } = found;
  const known = opened.get(sealed) ?? openKey(context.box(purpose), name, sealed);
  if (!opened.has(sealed) && opened.size >= openedLimit) opened.clear();
  opened.set(sealed, known);
  return { kid: jwk.kid, key: await known };
}

function openKey(box: SecretBox, name: string, sealed: string): Promise<CryptoKey> {
  let pem: string;
  try {
    pem = box.open(Buffer.from(sealed, "base64"), name).toString();
  } catch (cause) {
    const refusal = new RefusalError(
      "unreadable",
      "the key of the issuer was sealed with another WINDLASS_SECRET_KEY: set WINDLASS_SECRET_KEY_OLD to that key",
    );
    refusal.cause = cause;
    throw refusal;
  }
  return importPKCS8(pem, "RS256");
}

export interface Rotation {
  /** The id of the key that takes over. */
  readonly kid: string;
  /** Whether there was none: it signs at once. */
  readonly isFirst: boolean;
  /** Whether it was published before. */
  readonly isPending: boolean;
  readonly isRead: boolean;
}

/** Publishes a new key, unless one is published already that does not sign yet. */
export async function rotateIssuerKey(context: Keeping): Promise<Rotation> {
  const keys = await readKeys(context.store.read);
  const now = context.now();
  const pending = nextKey(keys, now);
  if (pending)
    return {
      kid: pending.jwk.kid,
      isFirst: false,
      isPending: true,
      isRead: unreadKey(keys, now) === undefined,
    };
  const added = await addKey(context, keys);
  const isFirst = keys.length === 0;
  return { kid: added.at(-1)!.jwk.kid, isFirst, isPending: false, isRead: false };
}

/** The id of the key that must be read at `jwks_uri` before it may sign. */
export async function findUnreadKey({ store, now }: Keeping): Promise<string | undefined> {
  return unreadKey(await readKeys(store.read), now())?.jwk.kid;
}

/** Notes that a key was read at `jwks_uri`. */
export async function markKeyRead({ store, now }: Keeping, kid: string): Promise<void> {
  await store.write(async (tx) => {
    const read_at = now();
    const key = unreadKey(await readKeys(tx), read_at);
    if (key?.jwk.kid !== kid) return;
    const { name, ...rest } = key;
    await setFact(tx, name, JSON.stringify({ ...rest, read_at }));
  });
}

/** Removes keys that are no longer published. */
export async function dropOldKeys({ store, now }: Keeping): Promise<void> {
  const keys = await readKeys(store.read);
  const old = keys.slice(0, keys.length - publishedKeys(keys, now()).length);
  if (old.length === 0) return;
  await store.write(async (tx) => {
    for (const { name } of old) await removeFact(tx, name);
  });
}

/** Drops a key at once, such as one that has leaked. Returns the id of the key that signs then. */
export async function dropIssuerKey(context: Keeping, kid: string): Promise<string> {
  await context.store.write(async (tx) => {
    const keys = await readKeys(tx);
    // Without those that end anyway: they must not sign again.
    const published = new Set(publishedKeys(keys, context.now()));
    for (const one of keys)
      if (one.jwk.kid === kid || !published.has(one)) await removeFact(tx, one.name);
  });
  return (await currentKey(context)).kid;
}

/** After a change of WINDLASS_SECRET_KEY. Returns how many keys are sealed anew. */
export async function resealIssuerKeys(tx: Queries, keys: SecretKeys): Promise<number> {
  let done = 0;
  for (const { name, ...key } of await readKeys(tx)) {
    const again = sealAgain(keys, purpose, Buffer.from(key.sealed, "base64"), name);
    const sealed = again.toString("base64");
    if (sealed === key.sealed) continue;
    await setFact(tx, name, JSON.stringify({ ...key, sealed }));
    done += 1;
  }
  return done;
}
