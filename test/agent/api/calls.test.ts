import { pino } from "pino";
import { expect, test } from "vitest";
import { persist } from "../../../agent/api/calls.ts";
import { Revocation } from "../../../agent/api/failures.ts";

test("persist logs a call that was answered at debug, and not at info", async () => {
  const lines: unknown[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  for (const level of ["info", "debug"]) {
    const log = pino({ level }, { write });
    const revocation = new Revocation(30, () => undefined);
    const options = { revocation, log, retry: { first: 1, most: 1 } };
    const { signal } = new AbortController();
    expect(await persist(options, "claim", signal, async () => "answer")).toBe("answer");
  }
  expect(lines).toMatchObject([{ level: 20, call: "claim", milliseconds: expect.any(Number) }]);
});
