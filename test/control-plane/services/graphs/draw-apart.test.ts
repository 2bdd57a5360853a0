import { describe, expect, test } from "vitest";
import { drawApart } from "../../../../control-plane/services/graphs/draw-apart.ts";
import { stateResource } from "../../../helpers/console/sample-pages.ts";

const choice = { isOpen: true, flipped: new Set<string>() };
const sources = (state: object) => async () => ({
  state: new TextEncoder().encode(JSON.stringify(state)),
  choice,
});
const small = sources({ resources: [stateResource("a.b", ["a.c"]), stateResource("a.c")] });

describe("a graph", () => {
  test("is drawn in a thread", async () => {
    expect(await drawApart("user", small)).toMatchObject({
      view: { resources: 2 },
      drawing: { nodes: [{ id: "a.b" }, { id: "a.c" }], arrows: [expect.anything()] },
    });
  });

  test("of a state that OpenTofu has encrypted is not drawn", async () => {
    const state = { serial: 1, lineage: "x", encrypted_data: "…", encryption_version: "v0" };
    expect(await drawApart("user", sources(state))).toBe("encrypted");
  });

  test("that takes too long is given up, and the next one is drawn", async () => {
    const limits = { reading: 1, layout: 1 };
    expect(await drawApart("user", small, limits)).toBe("too complex");
    expect(await drawApart("user", small)).toMatchObject({ view: { resources: 2 } });
  });

  test("whose layout takes too long still has its resources", async () => {
    // The layout of these takes more than ten seconds.
    const crossing = Array.from({ length: 40 }, (_, n) => `a.r${n}`);
    const resources = [
      ...crossing.map((one) => stateResource(one)),
      ...Array.from({ length: 400 }, (_, n) =>
        stateResource(
          `b.r${n}`,
          [n, n * 7 + 3, n * 11 + 5].map((at) => crossing[at % 40]!),
        ),
      ),
    ];
    const limits = { reading: 60_000, layout: 1 };
    expect(await drawApart("user", sources({ resources }), limits)).toMatchObject({
      view: { resources: 440, root: { nodes: { length: 440 } } },
      drawing: undefined,
    });
  });

  test("of one user waits for those of others; a third one of the same user gets 429", async () => {
    const order: string[] = [];
    const draw = (user: string) => drawApart(user, small).then(() => order.push(user));
    const [first, second, other] = [draw("a"), draw("a"), draw("b")];
    await expect(drawApart("a", small)).rejects.toMatchObject({ code: "too_many_requests" });
    await Promise.all([first, second, other]);
    expect(order).toEqual(["a", "a", "b"]);
    await draw("a");
  });
});
