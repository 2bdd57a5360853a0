/**
 * Counts the resources of states that an earlier release stored, which counted the instances of a
 * resource as one, and none in a state that it could not read. Once, in the background, and only the
 * newest version of each configuration: it says what is deployed.
 */
import { StateDocumentReader } from "../../domain/state-document.ts";
import { findFact, removeFact, setFact, statesToRecount } from "../../store/facts.ts";
import { findState, setResourceCount } from "../../store/states/states.ts";
import { listSpecsWithState } from "../../store/storage/retention.ts";
import type { Context } from "../context.ts";
import { Turns } from "../storage/turns.ts";

/** Continues where an earlier round or server stopped. Ends early when `stop` is aborted. */
export async function recountStates({ store, blobs }: Context, stop?: AbortSignal): Promise<void> {
  const turns = new Turns(stop);
  let after = await findFact(store.read, statesToRecount);
  while (after !== undefined && (await turns.next())) {
    const spec = (await store.read.first(listSpecsWithState, { after, limit: 1 }))?.id;
    if (spec === undefined) return store.write((tx) => removeFact(tx, statesToRecount));
    const state = await store.read.first(findState, { spec });
    const count = state && (await countIn(await blobs.read(state.blob).catch(() => [])));
    await store.write(async (tx) => {
      if (state && typeof count === "number")
        await tx.run(setResourceCount, { id: state.id, count });
      await setFact(tx, statesToRecount, spec);
    });
    after = spec;
  }
}

/** Returns undefined for a state that cannot be read, which keeps its count. */
async function countIn(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number | null | undefined> {
  const reader = new StateDocumentReader();
  try {
    for await (const chunk of content) reader.push(chunk);
    return reader.end().resources;
  } catch {
    return undefined;
  }
}
