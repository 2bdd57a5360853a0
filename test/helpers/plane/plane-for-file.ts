/** The control plane of a test file, and tests with a user and a worker on it. */
import { afterAll, beforeAll, test } from "vitest";
import { callsOf } from "./calls.ts";
import { addTestWorker, clientHeaders, startPlane, type Plane } from "./plane.ts";
import { withRoutes, type ServedRoute } from "./routes.ts";
import { addOwner, addSpec } from "./rows.ts";

type Settings = Readonly<Record<string, string>>;

/**
 * Starts a control plane before the tests of a file and closes it after them. Settings that are
 * known only then, such as the address of another server, are given as a function.
 *
 * The returned `it` gives every test that names them an owner, a worker and clients of its own:
 * `it("…", async ({ client, runner }) => …)`.
 */
export function planeForFile(settings: Settings | (() => Settings) = {}) {
  const plane = {} as Plane;
  const routes: ServedRoute[] = [];
  beforeAll(async () => {
    const given = typeof settings === "function" ? settings() : settings;
    const [started, served] = await withRoutes(() => startPlane(given));
    Object.assign(plane, started);
    routes.push(...served);
  });
  afterAll(() => plane.close());

  const it = test
    // A user with a zone, written straight to the store.
    .extend("owner", () => addOwner(plane.context.store))
    // Another user with a zone, and the API as that user's client calls it.
    .extend("otherOwner", () => addOwner(plane.context.store))
    .extend("otherClient", async ({ otherOwner }) =>
      callsOf(plane, await clientHeaders(plane, otherOwner)),
    )
    // A configuration of the owner.
    .extend("spec", ({ owner }) => addSpec(plane.context.store, owner))
    // A self-hosted worker of the owner.
    .extend("worker", ({ owner }) => addTestWorker(plane, owner))
    // The API as the owner's client calls it.
    .extend("client", async ({ owner }) => callsOf(plane, await clientHeaders(plane, owner)))
    // The API as the worker's runner calls it.
    .extend("runner", ({ worker }) => callsOf(plane, worker.headers));

  return { plane, routes, it };
}
