/** A user of a control plane with a worker, written to its store, and the API as they call it. */
import { callsOf, type Calls } from "../plane/calls.ts";
import { addTestWorker, clientHeaders, type Plane, type TestWorker } from "../plane/plane.ts";
import { addOwner, type Owner } from "../plane/rows.ts";

export interface TestUser {
  /** The user, with a zone. */
  readonly owner: Owner;
  /** The credential of the user's client. */
  readonly headers: Record<string, string>;
  /** The API as the user's client calls it. */
  readonly client: Calls;
  /** A self-hosted worker of the user. */
  readonly worker: TestWorker;
  /** The API as the worker's runner calls it. */
  readonly runner: Calls;
}

/** Adds a user. */
export async function addTestUser(plane: Plane): Promise<TestUser> {
  const owner = await addOwner(plane.context.store);
  const headers = await clientHeaders(plane, owner);
  const worker = await addTestWorker(plane, owner);
  const [client, runner] = [callsOf(plane, headers), callsOf(plane, worker.headers)];
  return { owner, headers, client, worker, runner };
}

/** Adds another worker of a user and returns the API as its runner calls it. */
export const addRunner = async (plane: Plane, owner: Owner): Promise<Calls> =>
  callsOf(plane, (await addTestWorker(plane, owner)).headers);
