import { beforeEach, describe, expect, it, vi } from "vitest";
import { workerTokens } from "../../../../control-plane/services/workers/credentials.ts";
import type { Store } from "../../../../control-plane/store/db.ts";
import { memoryWakeups } from "../../../../control-plane/wakeups/memory.ts";
import type { Calls } from "../../../helpers/plane/calls.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import type { TestWorker } from "../../../helpers/plane/plane.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

const { plane } = planeForFile();
const origin = { ip: "127.0.0.1", id: "test", headers: {} };

describe("worker tokens", () => {
  let worker: TestWorker;
  let client: Calls;
  let token: string;
  let reads: number;
  beforeEach(async () => {
    ({ worker, client } = await addTestUser(plane));
    token = worker.headers["x-worker-token"] ?? "";
    reads = 0;
  });
  /** The plane's store, as far as the checks use it. */
  const storeThat = (afterRead: () => unknown): Store => {
    const { read } = plane.context.store;
    const first: Store["read"]["first"] = async (...query) => {
      const row = await read.first(...query);
      reads += 1;
      await afterRead();
      return row;
    };
    return { read: { first } } as Store;
  };
  /** Rows of them are not out of date before the end of the test. */
  const tokens = (change: object = {}) => {
    const { context } = plane;
    const periods = { ...context.periods, offline: Number.MAX_SAFE_INTEGER };
    return workerTokens({ ...context, store: storeThat(() => undefined), periods, ...change });
  };
  const check = async (of: ReturnType<typeof tokens>, presented = token): Promise<boolean> => {
    try {
      return (await of.check(worker.id, presented, origin)).id === worker.id;
    } catch {
      return false;
    }
  };
  const rotate = async (overlap_seconds = 0): Promise<string> =>
    (
      await client.call("rotateWorkerToken", {
        params: worker,
        body: { overlap_seconds },
      })
    ).worker_token;

  it("are checked without a query or a promise while the row is in memory", async () => {
    const of = tokens();
    expect(await check(of)).toBe(true);
    const again = of.check(worker.id, token, origin);
    expect(again).not.toBeInstanceOf(Promise);
    expect(await again).toMatchObject({ id: worker.id, origin });
    expect(reads).toBe(1);
  });

  it.each([
    ["rotated", () => rotate()],
    ["deleted with its worker", () => client.call("deleteWorker", { params: worker })],
  ])("are refused as soon as they are %s", async (_, revoke) => {
    const of = tokens();
    expect(await check(of)).toBe(true);
    await revoke();
    expect(await check(of)).toBe(false);
  });

  it("are read again if they are wrong for the row in memory", async () => {
    const of = tokens({ wakeups: memoryWakeups() });
    expect(await check(of)).toBe(true);
    const second = await rotate();
    // Its wakeup was lost.
    expect(await check(of, second)).toBe(true);
    expect(await check(of)).toBe(false);
    expect(await check(of, "wlw_wrong")).toBe(false);
  });

  it("are refused when the overlap of a rotation ends, although the row is in memory", async () => {
    let late = 0;
    const of = tokens({ wakeups: memoryWakeups(), now: () => plane.context.now() + late });
    await rotate(60);
    expect(await check(of)).toBe(true);
    late = 61_000;
    expect(await check(of)).toBe(false);
  });

  it("that differ from the last right one are refused", async () => {
    const of = tokens();
    expect(await check(of)).toBe(true);
    expect(await check(of, `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`)).toBe(false);
    expect(await check(of, token.slice(0, -1))).toBe(false);
    expect(await check(of)).toBe(true);
  });

  it("are refused after a while even if all wakeups are lost", async () => {
    const of = tokens({
      wakeups: memoryWakeups(),
      periods: { ...plane.context.periods, offline: 200 },
    });
    expect(await check(of)).toBe(true);
    await rotate();
    await vi.waitFor(async () => expect(await check(of)).toBe(false));
  });

  it("are read again if the worker changes during the read", async () => {
    const of = tokens({ store: storeThat(() => (reads === 1 ? rotate() : undefined)) });
    expect(await check(of)).toBe(true);
    expect(await check(of)).toBe(false);
  });
});
