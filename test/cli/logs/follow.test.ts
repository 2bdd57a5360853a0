import { Readable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { followJob } from "../../../cli/logs/follow.ts";
import { day } from "../../../common/units.ts";

afterEach(() => vi.restoreAllMocks());

test.each([day, -day])("following goes on after a step of the clock by %i ms", async (step) => {
  const wall = Date.now;
  let tries = 0;
  const send = async () => {
    tries += 1;
    vi.spyOn(Date, "now").mockImplementation(() => wall.call(Date) + step);
    if (tries === 1) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    return { body: Readable.from([Buffer.from('event: end\ndata: {"status":"SUCCESS"}\n\n')]) };
  };
  const trouble: (string | undefined)[] = [];
  const follower = {
    signal: new AbortController().signal,
    onProgress: () => undefined,
    onChunk: () => undefined,
    onTrouble: (text: string | undefined) => void trouble.push(text),
  };
  const end = await followJob({ send: send as never, server: "http://host" }, "id", follower);
  expect(end).toEqual({ status: "SUCCESS" });
  expect([tries, trouble.length, trouble.at(-1)]).toEqual([2, 2, undefined]);
});
