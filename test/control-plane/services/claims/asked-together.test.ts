import { describe, expect, it } from "vitest";
import { askedTogether } from "../../../../control-plane/services/claims/asked-together.ts";
import type { WorkerCaller } from "../../../../control-plane/services/callers.ts";

const workerOf = (owner_id: string | null) => ({ owner_id }) as WorkerCaller;

/** Questions that are answered by hand, in the order in which they were asked. */
function byHand() {
  const asked: { owner: string | null; answer: PromiseWithResolvers<boolean> }[] = [];
  const ask = askedTogether(({ owner_id: owner }) => {
    const answer = Promise.withResolvers<boolean>();
    asked.push({ owner, answer });
    return answer.promise;
  });
  return { asked, ask };
}

/** Lets everything run that waits for nothing else. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("questions about one owner", () => {
  it("that come together are asked once", async () => {
    const { asked, ask } = byHand();
    const answers = [ask(workerOf("a")), ask(workerOf("a")), ask(workerOf("a"))];
    await settle();
    expect(asked).toHaveLength(1);
    asked[0]!.answer.resolve(true);
    expect(await Promise.all(answers)).toEqual([true, true, true]);
  });

  it("that come while one is answered are asked once, after it", async () => {
    const { asked, ask } = byHand();
    const first = ask(workerOf("a"));
    await settle();
    const later = [ask(workerOf("a")), ask(workerOf("a"))];
    await settle();
    expect(asked).toHaveLength(1);
    asked[0]!.answer.resolve(true);
    expect(await first).toBe(true);
    await settle();
    expect(asked).toHaveLength(2);
    asked[1]!.answer.resolve(false);
    expect(await Promise.all(later)).toEqual([false, false]);
  });

  it("are asked again after one failed", async () => {
    const { asked, ask } = byHand();
    const first = ask(workerOf("a"));
    await settle();
    const second = ask(workerOf("a"));
    asked[0]!.answer.reject(new Error("away"));
    await expect(first).rejects.toThrow("away");
    await settle();
    asked[1]!.answer.resolve(false);
    expect(await second).toBe(false);
  });
});

it("questions about different owners do not wait for each other", async () => {
  const { asked, ask } = byHand();
  const answers = [ask(workerOf("a")), ask(workerOf("b")), ask(workerOf(null))];
  await settle();
  expect(asked.map(({ owner }) => owner)).toEqual(["a", "b", null]);
  for (const { answer } of asked) answer.resolve(true);
  await Promise.all(answers);
});
