/** The graph of a state that is made to fill the memory of the thread that reads it. */
import { expect, test } from "vitest";
import { drawApart } from "../../control-plane/services/graphs/draw-apart.ts";
import { mebibyte } from "../../common/units.ts";

test("a graph that takes too much memory is given up", async () => {
  const state = new Uint8Array(16 * mebibyte).fill("[".charCodeAt(0));
  const choice = { isOpen: true, flipped: new Set<string>() };
  expect(await drawApart("user", async () => ({ state, choice }))).toBe("too complex");
});
