import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { joined, Offsets, type Entry } from "../../../agent/logs/offsets.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";
import { proving } from "../../helpers/project/proving.ts";

let directory: string;
folderForEachTest((path) => {
  directory = path;
});

const at = "2026-01-01T00:00:00.000Z";
const kibibyte = 1024;

describe("joined chunks", () => {
  const out = (seq: number, from: number, to: number, more: object = {}): Entry => ({
    seq,
    at: 1,
    stream: "STDOUT",
    from,
    to,
    ...more,
  });
  const error = (seq: number, from: number, to: number): Entry => ({
    ...out(seq, from, to),
    stream: "STDERR",
  });

  it("have the range of both streams, the start of the first and the end of the last", () => {
    const entries = [
      out(1, 0, 10, { skip: 2, context: 6, tail: 1, carry: 3 }),
      error(2, 0, 5),
      out(3, 10, 30, { skip: 3 }),
      out(4, 30, 40, { context: 7, tail: 4, carry: 5, released: 8 }),
      error(5, 5, 6),
    ];
    const expected = [
      out(3, 0, 40, { skip: 2, context: 6, tail: 4, carry: 5, released: 8, count: 3 }),
      { ...error(5, 0, 6), count: 2 },
    ];
    expect([...joined(entries, 5)]).toEqual(expected);
    expect([...joined(expected, 5)]).toEqual(expected);
  });

  it("are no larger than a full one, of one run, and neither marked nor unacknowledged", () => {
    const resource = { address: "a.b", action: "create", event: "started", at } as const;
    const entries: Entry[] = [
      { seq: 1, at: 0, stream: "SYSTEM" },
      out(2, 0, 20 * kibibyte),
      out(3, 20 * kibibyte, 32 * kibibyte),
      out(4, 32 * kibibyte, 33 * kibibyte),
      out(5, 33 * kibibyte, 34 * kibibyte, { resource }),
      out(6, 34 * kibibyte, 35 * kibibyte),
      { ...out(7, 0, 1), at: 2 },
      { ...out(8, 1, 2), at: 2 },
    ];
    expect([...joined(entries, 7)]).toEqual([
      entries[0],
      out(3, 0, 32 * kibibyte, { count: 2 }),
      ...entries.slice(3),
    ]);
  });
});

/** Posts of steady output, two a second; with WINDLASS_PROVE=1 those of seven days. */
const posts = proving ? 7 * 24 * 3600 * 2 : 60_000;

describe("the record of what was shipped", () => {
  it("stays small over days of steady output, and loses nothing", () => {
    const path = join(directory, "shipped.ndjson");
    let offsets = new Offsets(directory);
    let largest = 0;
    const position = { STDOUT: 0, STDERR: 0 };
    offsets.add([{ seq: 1, at: 0, stream: "SYSTEM" }]);
    for (let seq = 2; seq <= posts; seq++) {
      const stream = seq % 3 === 0 ? "STDERR" : "STDOUT";
      const from = position[stream];
      const to = (position[stream] += 30);
      offsets.add([{ seq, at: 1, stream, from, to }]);
      // One answer may come late.
      if (seq % 7 > 0) offsets.acknowledge(seq);
      if (seq % 500 === 0) largest = Math.max(largest, statSync(path).size);
      if (seq % (posts / 4) === 0) {
        offsets.close();
        offsets = new Offsets(directory);
        expect(offsets.lastSeq).toBe(seq);
      }
    }
    offsets.acknowledge(posts - 1);
    offsets.close();
    expect(largest).toBeLessThan(2 * 1024 * kibibyte);
    offsets = new Offsets(directory);
    expect(offsets).toMatchObject({ lastSeq: posts });
    expect(offsets.unacknowledged.every(({ seq }) => seq > offsets.acknowledged)).toBe(true);
    const end = { seq: 0, STDOUT: 0, STDERR: 0 };
    for (const { seq, count = 1, stream, from = 0, to = 0 } of offsets.entries()) {
      expect(seq - count).toBe(end.seq);
      end.seq = seq;
      if (stream === "SYSTEM") continue;
      expect(from).toBe(end[stream]);
      end[stream] = to;
    }
    expect(end).toEqual({ seq: posts, ...position });
    offsets.close();
  });
});
