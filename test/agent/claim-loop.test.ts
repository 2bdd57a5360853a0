import { pino } from "pino";
import { expect, test } from "vitest";
import { Contact } from "../../agent/api/contact.ts";
import { claimLoop, type ClaimLoopOptions } from "../../agent/claim-loop.ts";
import { Slots } from "../../agent/slots.ts";
import { ProblemError, ResponseTooLargeError } from "../../protocol/transport.ts";

test.each([
  [
    "that the server refuses",
    new ProblemError(422, { code: "idempotency_key_reused", title: "used" }),
  ],
  ["whose response is too large", new ResponseTooLargeError("over 32 MiB")],
])("continues when the key %s cannot be replaced on the disk", async (_, refusal) => {
  const stop = new AbortController();
  const keys: string[] = [];
  let key = "used";
  let renewals = 0;
  const api = {
    claim: async (_wait: number, given: string) => {
      keys.push(given);
      if (given === "used") throw refusal;
      stop.abort();
      return undefined;
    },
  };
  await claimLoop({
    api: api as unknown as ClaimLoopOptions["api"],
    slots: new Slots(1),
    key: {
      current: () => key,
      renew: () => {
        if (++renewals === 1) throw new Error("EMFILE: too many open files");
        key = "new";
      },
    },
    log: pino({ enabled: false }),
    contact: new Contact(),
    noMoreWork: stop.signal,
    pollEvery: 1,
    once: false,
    start: async () => true,
    room: async () => undefined,
  });
  expect(keys).toEqual(["used", "new"]);
});
