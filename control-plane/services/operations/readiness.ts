/** Whether the server can do its work now. */
import { RefusalError } from "../../domain/refusal.ts";
import { setFact } from "../../store/facts.ts";
import type { Context } from "../context.ts";

/** Results are cached for this long, so that more frequent checks cost nothing. */
const findingMilliseconds = 1000;

/**
 * Makes a check that throws while the server stops, and whatever keeps it from storing a row or a
 * blob: both are really written, since a full disk or a lock shows only then.
 */
export function readiness({ store, blobs, draining, now }: Context): () => Promise<void> {
  let finding: Promise<void> | undefined;
  let foundAt = 0;
  const look = async () => {
    await store.write((tx) => setFact(tx, "ready_at", String(now())));
    const { blob } = await blobs.write(probe(), Infinity);
    await blobs.delete(blob);
  };
  return async () => {
    if (draining.aborted) throw new RefusalError("unavailable", "the server is stopping");
    if (finding === undefined || performance.now() - foundAt > findingMilliseconds) {
      foundAt = Infinity;
      finding = look().finally(() => (foundAt = performance.now()));
    }
    await finding;
  };
}

async function* probe(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(4096);
}
