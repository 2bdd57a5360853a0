import { pino } from "pino";
import { expect, test } from "vitest";
import { retryCall } from "../../../agent/api/calls.ts";
import { ProblemError } from "../../../protocol/transport.ts";
import { Revocation } from "../../../agent/api/failures.ts";

test("retryCall says that a refused token ends the agent, and of other failures that they are repeated", async () => {
  const said: unknown[] = [];
  const log = pino(
    { level: "warn" },
    { write: (line) => void said.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const revocation = new Revocation(30, () => undefined);
  const options = { revocation, log, retry: { first: 1, most: 1 } };
  const failures = [new ProblemError(503, {}), new ProblemError(401, {})];
  const once = async () => {
    const failure = failures.shift();
    if (failure) throw failure;
  };
  await retryCall(options, "claim", new AbortController().signal, once);
  expect(said).toEqual([
    "a call of the control plane failed; it is repeated",
    "the control plane refuses this worker's token; the agent ends if it keeps doing so",
  ]);
});

test("retryCall logs a call that was answered at debug, and not at info", async () => {
  const lines: unknown[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  for (const level of ["info", "debug"]) {
    const log = pino({ level }, { write });
    const revocation = new Revocation(30, () => undefined);
    const options = { revocation, log, retry: { first: 1, most: 1 } };
    const { signal } = new AbortController();
    expect(await retryCall(options, "claim", signal, async () => "answer")).toBe("answer");
  }
  expect(lines).toMatchObject([{ level: 20, call: "claim", milliseconds: expect.any(Number) }]);
});
