import { expect, test } from "vitest";
import { Slots } from "../../agent/slots.ts";

const never = new AbortController().signal;

test("slots are given in the order in which they were asked for", async () => {
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
  const stop = new AbortController();
  const waiting = slots.take(stop.signal);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  slots.give();
  await slots.take(never);
});

test("jobs that already run take slots, even above the limit", async () => {
  const slots = new Slots(1);
  slots.takeAnyway();
  slots.takeAnyway();
  const stop = new AbortController();
  const waiting = slots.take(stop.signal);
  slots.give();
  slots.give();
  await waiting;
  await expect(slots.take(AbortSignal.abort(new Error("full")))).rejects.toThrow("full");
});
