/** Whether the server can do its work now. */
import { Refusal } from "../problem.ts";
import { findFact } from "../store/facts.ts";
import type { Context } from "./context.ts";

/** Throws 503 while the server stops; reads the store, because a server that cannot is not ready. */
export async function checkReady({ store, draining }: Context): Promise<void> {
  if (draining.aborted) throw new Refusal("unavailable", "the server is stopping");
  await findFact(store.read, "public_url");
}
