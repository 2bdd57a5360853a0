import { expect, test } from "vitest";
import { drawingsPerUser } from "../../../../control-plane/services/graphs/draw-apart.ts";
import { drawState } from "../../../../control-plane/services/graphs/graphs.ts";
import { callerOf } from "../../../helpers/people/caller.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addOwner, addSpec } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();

test("the graphs that one person draws are counted together, in however many spaces", async () => {
  const { store } = plane.context;
  const spaces = await Promise.all(
    Array.from({ length: drawingsPerUser + 1 }, async () => {
      const space = await addOwner(store);
      return { space, spec: await addSpec(store, space) };
    }),
  );
  const person = callerOf(spaces[0]!.space);
  const plan = { changes: [] };
  const choice = { isOpen: true, flipped: new Set<string>() };
  const draw = (caller: typeof person) =>
    Promise.allSettled(
      spaces.map(({ space, spec }) =>
        drawState(plane.context, { ...caller, space_id: space.id }, spec, choice, plan),
      ),
    );
  const drawn = await draw(person);
  expect(
    drawn.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : [])),
  ).toEqual([expect.objectContaining({ code: "too_many_requests" })]);
});
