/** Renewal of sessions that live for seconds. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { SessionCredentials } from "../../../../agent/job/credentials/assume-role.ts";
import {
  IdentityRefusedError,
  ServerAwayError,
} from "../../../../agent/job/credentials/identity-errors.ts";
import { RenewedSession } from "../../../../agent/job/credentials/renewed-session.ts";

let over = new AbortController();
afterEach(() => over.abort());

/** A session whose STS gives these responses: a lifetime in milliseconds, or an error. */
function sessionOf(...responses: (number | Error)[]) {
  over = new AbortController();
  const asked: number[] = [];
  const received: string[] = [];
  const messages: string[] = [];
  const session = new RenewedSession({
    source: "STS",
    obtain: async (signal) => {
      const next = Math.min(asked.push(performance.now()), responses.length) - 1;
      const response = responses[next] ?? 0;
      await sleep(20, undefined, { signal });
      if (response instanceof Error) throw response;
      return {
        accessKeyId: `key ${asked.length}`,
        secretAccessKey: "secret",
        sessionToken: "token",
        life: response,
      };
    },
    over: over.signal,
    onCredentials: ({ accessKeyId }) => received.push(accessKeyId),
    onRenewed: () => {},
    onTrouble: (text) => messages.push(text),
  });
  return { session, asked, received, messages };
}

const never = new AbortController().signal;
const keyOf = async (given: Promise<SessionCredentials>) => (await given).accessKeyId;
const down = new Error("connect ECONNREFUSED");

test("concurrent callers share one request, and later callers get the cached session while it is valid", async () => {
  const { session, asked, received } = sessionOf(60_000);
  const given = await Promise.all(Array.from({ length: 50 }, () => session.current()));
  expect(new Set(given.map(({ accessKeyId }) => accessKeyId))).toEqual(new Set(["key 1"]));
  expect(await keyOf(session.current())).toBe("key 1");
  expect(asked).toHaveLength(1);
  expect(received).toEqual(["key 1"]);
});

test.concurrent("credentials are renewed each time a quarter of their lifetime is left", async () => {
  const { session, asked, messages } = sessionOf(2000);
  await session.begin(never, 1000);
  void session.keep();
  const good: number[] = [];
  for (let look = 0; look < 42; look++) {
    good.push(session.left);
    await sleep(100);
  }
  expect(asked.length).toBeGreaterThanOrEqual(3);
  expect(Math.min(...good)).toBeGreaterThan(0);
  for (const [index, at] of asked.slice(1).entries())
    expect(at - (asked[index] ?? 0)).toBeGreaterThan(1400);
  expect(messages).toEqual([]);
});

test.concurrent("failed renewals return the old credentials until they expire, and are logged once", async () => {
  const { session, messages } = sessionOf(2000, down, down, down, down, 60_000);
  await session.begin(never, 1000);
  void session.keep();
  await sleep(1700);
  expect(await keyOf(session.current())).toBe("key 1");
  await sleep(350);
  const late = await keyOf(session.current()).catch((error: Error) => error.message);
  expect(["connect ECONNREFUSED", "key 6"]).toContain(late);
  while (session.left < 10_000) await sleep(50);
  expect(await keyOf(session.current())).toBe("key 6");
  await sleep(30);
  expect(messages).toEqual([
    expect.stringMatching(
      /^STS returns no credentials; trying again: connect ECONNREFUSED; the present ones are valid for another \d s$/,
    ),
    "STS returns credentials again",
  ]);
});

test.concurrent("the first credentials are retried while STS fails, up to a time limit", async () => {
  const patient = sessionOf(down, down, 60_000);
  await patient.session.begin(never, 10_000);
  expect(patient.asked).toHaveLength(3);
  expect(patient.messages).toEqual([
    "STS returns no credentials; trying again: connect ECONNREFUSED",
  ]);
  const hopeless = sessionOf(down);
  await expect(hopeless.session.begin(never, 1500)).rejects.toThrow(
    "STS returns no credentials: connect ECONNREFUSED",
  );
  expect(hopeless.asked.length).toBeGreaterThan(1);
});

test.concurrent("a refusal is not retried, and a stop ends the wait at once", async () => {
  const refused = sessionOf(new IdentityRefusedError("AccessDenied"));
  await expect(refused.session.begin(never, 10_000)).rejects.toThrow("AccessDenied");
  expect(refused.asked).toHaveLength(1);
  const stop = new AbortController();
  const waiting = sessionOf(down).session.begin(stop.signal, 10_000);
  setTimeout(() => stop.abort(new Error("cancelled")), 100);
  const started = performance.now();
  await expect(waiting).rejects.toThrow("aborted");
  expect(performance.now() - started).toBeLessThan(1000);
});

test("after the end of the job nothing is requested, reported or logged", async () => {
  const { session, asked, received, messages } = sessionOf(60_000);
  const under = session.current();
  over.abort();
  await expect(under).rejects.toThrow("aborted");
  await session.keep();
  await expect(session.current()).rejects.toThrow("aborted");
  expect(asked).toHaveLength(1);
  expect([received, messages]).toEqual([[], []]);
});

test.concurrent("a control plane that is away takes nothing of the time limit of the first credentials", async () => {
  const away = new ServerAwayError("503");
  const { session, asked } = sessionOf(away, away, 60_000);
  await session.begin(never, 1);
  expect(asked).toHaveLength(3);
  const hopeless = sessionOf(away, down, 60_000);
  await expect(hopeless.session.begin(never, 1)).rejects.toThrow("ECONNREFUSED");
  expect(hopeless.asked).toHaveLength(2);
});

test.concurrent("a reset session hands out nothing of before, not even what was on its way", async () => {
  const { session, asked, received } = sessionOf(60_000);
  await session.begin(never, 1000);
  void session.keep();
  session.reset();
  expect(session.valid).toBeUndefined();
  const dropped = session.current();
  session.reset();
  await expect(dropped).rejects.toThrow("aborted");
  await session.begin(never, 1000);
  expect(await keyOf(session.current())).toBe(`key ${asked.length}`);
  expect(received).not.toContain("key 2");
});
