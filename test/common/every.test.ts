import { expect, test } from "vitest";
import { every } from "../../common/every.ts";

test("every runs rounds until it is aborted, also after a failed round", async () => {
  const stop = new AbortController();
  const errors: unknown[] = [];
  let rounds = 0;
  await every(
    1,
    () => {
      rounds += 1;
      if (rounds === 1) throw new Error("the first fails");
      if (rounds === 3) stop.abort();
    },
    stop.signal,
    (error) => errors.push(error),
  );
  expect(rounds).toBe(3);
  expect(errors).toEqual([new Error("the first fails")]);
});

test("every ends its pause when it is aborted", async () => {
  const stop = new AbortController();
  const ended = every(
    2 ** 30,
    () => setImmediate(() => stop.abort()),
    stop.signal,
    () => undefined,
  );
  await ended;
  expect(stop.signal.aborted).toBe(true);
});
