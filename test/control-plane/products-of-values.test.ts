/** The costs of docs/limits.md that are products of two values in memory: each test fills both. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { lineDiff } from "../../control-plane/console/plans/line-diff.ts";
import { stepsOfChange, touches } from "../../control-plane/domain/changed-paths.ts";
import { edgeLimit, nodeLimit, nodesIn, viewOf } from "../../control-plane/domain/graph-view.ts";
import { addPlan, addState, ResourceGraph } from "../../control-plane/domain/resource-graph.ts";
import { withSets } from "../../control-plane/domain/variable-sets.ts";
import { inTurn, largeBytes, waitingLimit } from "../../control-plane/services/large-work.ts";
import { proving } from "../helpers/project/proving.ts";

const many = (moderate: number, large: number) => (proving ? large : moderate);

test("configurations × patterns × changed paths: a change has steps for all configurations together", async () => {
  const deep = "a/".repeat(500);
  const paths = Array.from({ length: many(50, 3000) }, (_, n) => `${deep}${n}`);
  const patterns = Array.from({ length: 50 }, (_, n) => `${"**/a/".repeat(100)}${n}b`);
  const changed = { paths, isCut: false };
  const other = { paths: ["other/x"], isCut: false };
  let undecided = 0;
  // A configuration that stops at its limit has used two million steps.
  for (let count = 0; count < stepsOfChange / 2_000_000; count += 1) {
    if (touches(changed, { directories: ["own"], patterns })) undecided += 1;
    await nextTurn();
  }
  expect(undecided).toBe(stepsOfChange / 2_000_000);
  // Nothing is left: even a short pattern is not tried.
  expect(touches(changed, { directories: ["own"], patterns: ["nothing"] })).toBe(true);
  expect(touches(other, { directories: ["own"], patterns: ["nothing"] })).toBe(false);
});

test("lines × lines of two values: so many edits are searched, then both are shown in whole", () => {
  const lines = (letter: string) =>
    Array.from({ length: 400 }, (_, at) => (at === 200 ? "same" : `${letter}${at}`));
  const text = lineDiff(lines("a"), lines("b"))?.text;
  expect([text?.match(/<del>/g)?.length, text?.match(/<ins>/g)?.length]).toEqual([401, 401]);
  const few = lines("a").with(0, "x");
  expect(lineDiff(lines("a"), few)?.text.match(/<del>/g)).toHaveLength(1);
  expect(lineDiff([...lines("a"), ""], lines("b"))).toBeNull();
});

test("sets × variables of a job: together they have so many variables", () => {
  const set = (at: number, count: number) => ({
    id: `${at}`,
    name: `set ${at}`,
    values: {
      variables: Object.fromEntries(
        Array.from({ length: count }, (_, n) => [`v${at}_${n}`, { value: "x" }]),
      ),
    },
  });
  const sets = (each: number) => Array.from({ length: 20 }, (_, at) => set(at, each)) as never;
  expect(Object.keys(withSets({ variables: {} }, sets(50)).variables)).toHaveLength(1000);
  expect(() => withSets({ variables: {} }, sets(1000))).toThrow(/more than 1000 variables/);
});

test("requests × size of definitions: two run at one time, and so many of a space wait", async () => {
  let [running, most, done] = [0, 0, 0];
  const work = async () => {
    most = Math.max(most, (running += 1));
    await nextTurn();
    running -= 1;
    done += 1;
  };
  const one = (space: string) => inTurn(space, largeBytes + 1, work);
  const ask = (space: string) => Array.from({ length: waitingLimit + 1 }, () => one(space));
  const asked = ["a", "b", "c"].flatMap(ask);
  await expect(one("a")).rejects.toMatchObject({ code: "too_many_requests" });
  const ends = await Promise.allSettled(asked);
  expect(most).toBe(2);
  // The first of "a" and "b" run at once; that of "c" waits too.
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(done).toBe(3 * waitingLimit + 2);
});

const resource = (at: number, dependencies: readonly string[]) => ({
  mode: "managed",
  type: "t",
  name: `r${at}`,
  provider: 'provider["registry.terraform.io/x/x"]',
  instances: [{ attributes: {}, dependencies }],
});

test("resources × dependencies of a graph: so many nodes and arrows are drawn", () => {
  const viewWith = (count: number, needed: number) => {
    const names = Array.from({ length: needed }, (_, at) => `t.r${at}`);
    const resources = Array.from({ length: count }, (_, at) =>
      resource(at, at < needed ? [] : names),
    );
    const graph = new ResourceGraph();
    addState(graph, { version: 4, resources });
    return viewOf(graph, { isOpen: true, flipped: new Set() });
  };
  const large = viewWith(2000, 100);
  expect([nodesIn(large.root).length, large.nodesOmitted]).toEqual([nodeLimit, 1500]);
  // Each of one half needs each of the other.
  const dense = viewWith(nodeLimit, nodeLimit / 2);
  expect([dense.root.edges.length, dense.edgesOmitted]).toEqual([edgeLimit, 250 * 250 - edgeLimit]);
});

// With a round for each move, this takes minutes.
test("moves × moves of a plan: each is looked at once, also if each waits for the next", () => {
  const count = 20_000;
  const resources = Array.from({ length: count }, (_, at) => resource(at, []));
  const changes = Array.from({ length: count - 1 }, (_, at) => ({
    address: `t.r${at + 1}`,
    previous_address: `t.r${at}`,
    action: "move",
  }));
  const graph = new ResourceGraph();
  addPlan(graph, { changes } as never, { version: 4, resources });
  expect(graph.resources.size).toBe(count);
});
