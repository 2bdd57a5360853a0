import { describe, expect, it } from "vitest";
import {
  GroupCommit,
  type GroupCommitOptions,
  type WritingQueries,
} from "../../../../control-plane/store/engines/group-commit.ts";

const queries = { writes: 0 } as WritingQueries;
const turn = () => new Promise((resolve) => setImmediate(resolve));

function counting(options: GroupCommitOptions = {}) {
  const sizes: number[] = [];
  const changes = new GroupCommit(async (round) => {
    sizes.push(round.length);
    for (const change of round) await change.run(queries);
    return undefined;
  }, options);
  const write = (mayWait: boolean) => changes.write(async () => undefined, { mayWait });
  return { changes, sizes, write };
}

describe("a group commit", () => {
  it("has the changes of one turn of the event loop", async () => {
    const { changes, sizes } = counting();
    const results = [1, 2, 3].map((value) => changes.write(async () => value));
    expect(await Promise.all(results)).toEqual([1, 2, 3]);
    expect(sizes).toEqual([3]);
  });

  it("has those of the next turns too, for four turns, if each brings some", async () => {
    const { changes, sizes } = counting();
    const results: Promise<void>[] = [];
    const write = () => results.push(changes.write(async () => undefined));
    write();
    await Promise.resolve();
    write();
    for (let n = 0; n < 12; n += 1) {
      await turn();
      write();
    }
    await Promise.all(results);
    // Two in the first turn, and one in each of the next three.
    expect(sizes[0]).toBe(5);
  });

  it("has the changes that may wait and come soon after others of their kind", async () => {
    const { sizes, write } = counting({ gapMilliseconds: 50 });
    await write(true);
    const begun = performance.now();
    const first = write(true);
    await turn();
    await turn();
    await Promise.all([first, write(true)]);
    expect(sizes).toEqual([1, 2]);
    // The clock of a timer may run a little ahead.
    expect(performance.now() - begun).toBeGreaterThan(45);
  });

  it("does not wait for more if a change may not wait, if there are enough, or at the end", async () => {
    const { changes, sizes, write } = counting({ gapMilliseconds: 60_000 });
    await write(true);
    const waiting = write(true);
    await turn();
    await Promise.all([waiting, write(false)]);
    await Promise.all(Array.from({ length: 16 }, () => write(true)));
    const last = write(true);
    await turn();
    await changes.close();
    await last;
    expect(sizes).toEqual([1, 2, 16, 1]);
  });
});
