import { describe, expect, it } from "vitest";
import {
  WaitingClaim,
  type Queue,
} from "../../../../control-plane/services/claims/waiting-claim.ts";
import type { WorkerCaller } from "../../../../control-plane/services/callers.ts";
import type { ClaimRow } from "../../../../control-plane/store/claims/claims.ts";

const job = { id: "job" } as ClaimRow;
const hint = {
  owner_id: "owner",
  job_type: "PLAN",
  assigned_worker_id: null,
  labels: [],
  features: [],
};
const worker = {
  id: "worker",
  owner_id: "owner",
  labels: "[]",
  features: "[]",
  token_hash: "current",
  old_token_hash: "old",
  old_token_expires_at: 1000,
  presented_hash: "current",
} as unknown as WorkerCaller;

/** Returns a parked claim with one request, and a queue whose attempt the test ends. */
function park(waitMilliseconds = 60_000) {
  const [connection, server] = [new AbortController(), new AbortController()];
  const attempt = Promise.withResolvers<ClaimRow | null>();
  const returned: ClaimRow[] = [];
  const queue: Queue = {
    take: () => attempt.promise,
    giveBack: async (taken) => void returned.push(taken),
  };
  const claim = new WaitingClaim({ worker, key: undefined }, server.signal);
  const outcome = claim.join({ waitMilliseconds, disconnected: () => connection.signal }).then(
    (taken) => taken?.id ?? "none",
    (error: Error) => error.message,
  );
  const events = {
    nothing: () => undefined,
    "the connection closes": () => connection.abort(),
    "the server stops": () => {
      server.abort();
      claim.stop();
    },
    "the worker drains": () => void claim.end(null),
    "the token is refused": () => claim.fail(new Error("refused")),
  };
  return { claim, queue, attempt, returned, outcome, events };
}
type Event = keyof ReturnType<typeof park>["events"];

describe("a waiting claim", () => {
  it.each<[Event, outcome: string]>([
    ["the connection closes", "none"],
    ["the server stops", "none"],
    ["the worker drains", "none"],
    ["the token is refused", "refused"],
  ])("that is parked ends when %s, and cannot be woken afterwards", async (event, outcome) => {
    const parked = park();
    parked.events[event]();
    expect(await parked.outcome).toBe(outcome);
    expect(parked.claim.wants(hint)).toBe(false);
    parked.attempt.resolve(job);
    await parked.claim.wake(parked.queue);
    expect(parked.returned).toEqual([]);
  });

  it.each<[Event, outcome: string, returned: ClaimRow[]]>([
    ["nothing", "job", []],
    ["the server stops", "job", []],
    ["the connection closes", "none", [job]],
    ["the worker drains", "none", [job]],
    ["the token is refused", "refused", [job]],
  ])("that is woken, then %s: its outcome is %s", async (event, outcome, returned) => {
    const woken = park();
    const waking = woken.claim.wake(woken.queue);
    expect(woken.claim.wants(hint)).toBe(false);
    woken.events[event]();
    woken.attempt.resolve(job);
    await waking;
    expect(await woken.outcome).toBe(outcome);
    expect(woken.returned).toEqual(returned);
  });

  it.each<[Event, isParked: boolean]>([
    ["nothing", true],
    ["the server stops", false],
    ["the connection closes", false],
    ["the worker drains", false],
    ["the token is refused", false],
  ])("whose attempt finds no job, then %s: it is parked again: %s", async (event, isParked) => {
    const woken = park();
    const waking = woken.claim.wake(woken.queue);
    woken.events[event]();
    woken.attempt.resolve(null);
    await waking;
    expect(woken.claim.wants(hint)).toBe(isParked);
    woken.claim.end(null);
    expect(await woken.outcome).toBe(event === "the token is refused" ? "refused" : "none");
  });

  it("ends after its wait, and the job of an attempt in progress returns to the queue", async () => {
    const { claim, queue, attempt, outcome, returned } = park(1);
    const waking = claim.wake(queue);
    expect(await outcome).toBe("none");
    attempt.resolve(job);
    await waking;
    expect(returned).toEqual([job]);
  });

  it("fails with the error of its attempt", async () => {
    const { claim, queue, attempt, outcome } = park();
    attempt.reject(new Error("the store is closed"));
    await claim.wake(queue);
    expect(await outcome).toBe("the store is closed");
  });

  it("returns one job to all requests that joined it, also after one of them has left", async () => {
    const { claim, queue, attempt, outcome, events } = park();
    const other = claim.join({
      waitMilliseconds: 60_000,
      disconnected: () => new AbortController().signal,
    });
    events["the connection closes"]();
    expect(claim.wants(hint)).toBe(true);
    attempt.resolve(job);
    await claim.wake(queue);
    expect(await other).toBe(job);
    expect(await outcome).toBe("job");
  });

  it.each([
    ["current", 2000, false],
    ["old", 999, false],
    ["old", 1000, true],
  ])("with the %s token at time %i has an expired token: %s", (presented, now, expired) => {
    const caller = { ...worker, presented_hash: presented };
    const claim = new WaitingClaim(
      { worker: caller, key: undefined },
      new AbortController().signal,
    );
    expect(claim.hasExpiredToken(now)).toBe(expired);
  });

  it("accepts hints for the labels of its renewed worker", () => {
    const { claim, events } = park();
    const gpu = { ...hint, labels: ["gpu"] };
    expect(claim.wants(gpu)).toBe(false);
    expect(claim.renew({ ...worker, labels: '["gpu"]' })).toBe(true);
    expect(claim.wants(gpu)).toBe(true);
    expect(claim.renew({ ...worker, labels: '["gpu"]' })).toBe(false);
    events["the worker drains"]();
  });
});
