import { expect, test } from "vitest";
import { Slots } from "../../agent/slots.ts";

const never = new AbortController().signal;

test("a slot is waited for in the order of asking", async () => {
  const slots = new Slots(1);
  await slots.take(never);
  const order: number[] = [];
  const waiting = [1, 2].map(async (number) => {
    await slots.take(never);
    order.push(number);
  });
  slots.give();
  slots.give();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2]);
});

test("a caller that stops waiting gets no slot", async () => {
  const slots = new Slots(0);
  const impatience = new AbortController();
  const waiting = slots.take(impatience.signal);
  impatience.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  slots.give();
  await slots.take(never);
});

test("jobs that are there already count, even over the limit", async () => {
  const slots = new Slots(1);
  slots.takeAnyway();
  slots.takeAnyway();
  const impatience = new AbortController();
  const waiting = slots.take(impatience.signal);
  slots.give();
  slots.give();
  await waiting;
  await expect(slots.take(AbortSignal.abort(new Error("full")))).rejects.toThrow("full");
});
