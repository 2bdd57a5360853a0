import { describe, expect, it } from "vitest";
import { retry } from "../../common/retry.ts";

const { signal } = new AbortController();
const failing = (...errors: unknown[]) => {
  const attempts: number[] = [];
  const once = async (attempt: number): Promise<string> => {
    attempts.push(attempt);
    if (errors.length > 0) throw errors.shift();
    return "done";
  };
  return { attempts, once };
};

describe("retry", () => {
  it("repeats until success, and passes each error with its attempt number", async () => {
    const told: unknown[] = [];
    const [first, second] = [new Error("one"), new TypeError("two")];
    const { attempts, once } = failing(first, second);
    const next = (error: unknown, attempt: number) => {
      told.push([error, attempt]);
      return 0;
    };
    expect(await retry(once, { signal, next })).toBe("done");
    expect(attempts).toEqual([1, 2, 3]);
    expect(told).toEqual([
      [first, 1],
      [second, 2],
    ]);
  });

  it("throws the error with which it gives up, unchanged", async () => {
    const last = new TypeError("the last");
    const { attempts, once } = failing(new Error("passing"), last);
    const next = (error: unknown) => (error === last ? undefined : 0);
    await expect(retry(once, { signal, next })).rejects.toBe(last);
    expect(attempts).toEqual([1, 2]);
    // oxlint-disable-next-line no-throw-literal
    await expect(
      retry(() => Promise.reject("text"), { signal, next: () => undefined }),
    ).rejects.toBe("text");
  });

  it("waits for the returned delay", async () => {
    const begun = performance.now();
    await retry(failing(new Error("x")).once, { signal, next: () => 60 });
    // A timer may fire a millisecond early.
    expect(performance.now() - begun).toBeGreaterThan(58);
  });

  it("stops at once when aborted: before an attempt, during one, or while waiting", async () => {
    const before = new AbortController();
    before.abort(new Error("stopped"));
    const { attempts, once } = failing();
    await expect(retry(once, { signal: before.signal, next: () => 0 })).rejects.toThrow("stopped");
    expect(attempts).toEqual([]);

    const during = new AbortController();
    const cut = async () => {
      during.abort();
      throw new Error("cut");
    };
    await expect(retry(cut, { signal: during.signal, next: () => 0 })).rejects.toThrow("cut");

    const waiting = new AbortController();
    const next = () => {
      setTimeout(() => waiting.abort());
      return 3_600_000;
    };
    const { once: fails } = failing(new Error("x"));
    await expect(retry(fails, { signal: waiting.signal, next })).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});
