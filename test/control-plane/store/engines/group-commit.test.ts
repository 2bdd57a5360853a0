import { describe, expect, it } from "vitest";
import {
  GroupCommit,
  type WritingQueries,
} from "../../../../control-plane/store/engines/group-commit.ts";

const queries = { writes: 0 } as WritingQueries;
const turn = () => new Promise((resolve) => setImmediate(resolve));

function counting() {
  const sizes: number[] = [];
  const changes = new GroupCommit(async (round) => {
    sizes.push(round.length);
    for (const change of round) await change.run(queries);
    return undefined;
  });
  return { changes, sizes };
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
});
