/** HMAC key of `config_hash`. It never changes: plans must stay comparable. */
import { randomBytes } from "node:crypto";
import {
  sealAgain,
  UnreadableError,
  type SecretBox,
  type SecretKeys,
} from "../../domain/secret-box.ts";
import { configHashKey, findFact, setFact } from "../../store/facts.ts";
import type { Queries } from "../../store/db.ts";
import type { Context } from "../context.ts";

const purpose = "config-hash";
const keyBytes = 32;

/**
 * Reads the key, and generates it the first time. It is sealed like every secret, and never
 * changes. A reader cannot keep a new key: what it hashes equals no earlier hash of a secret.
 */
export async function hashKeyOf(
  { box }: Pick<Context, "box">,
  tx: Queries,
  { isReader = false } = {},
): Promise<Buffer> {
  const sealed = await findFact(tx, configHashKey);
  if (sealed !== undefined) return open(box(purpose), sealed);
  const key = randomBytes(keyBytes);
  if (isReader) return key;
  await setFact(tx, configHashKey, box(purpose).seal(key, configHashKey).toString("base64"));
  return key;
}

export async function makeHashKey(context: Pick<Context, "box" | "store">): Promise<boolean> {
  const { read } = context.store;
  if ((await findFact(read, configHashKey)) !== undefined) return false;
  await context.store.write((tx) => hashKeyOf(context, tx));
  return true;
}

function open(box: SecretBox, sealed: string): Buffer {
  try {
    return box.open(Buffer.from(sealed, "base64"), configHashKey);
  } catch (cause) {
    throw new UnreadableError(
      `the store's fact ${configHashKey} cannot be decrypted: restore it from a backup, or delete it so that the server generates another one, after which all plans are stale`,
      { cause },
    );
  }
}

/** Seals the key again after a change of WINDLASS_SECRET_KEY; the key itself stays what it is. */
export async function resealHashKey(tx: Queries, keys: SecretKeys): Promise<void> {
  const sealed = await findFact(tx, configHashKey);
  if (sealed === undefined) return;
  const again = sealAgain(keys, purpose, Buffer.from(sealed, "base64"), configHashKey);
  await setFact(tx, configHashKey, again.toString("base64"));
}
