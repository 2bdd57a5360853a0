/** Resource graphs for users. They contain addresses of resources and no values. */
import { buffer } from "node:stream/consumers";
import { mebibyte } from "../../../common/units.ts";
import type { GraphChoice } from "../../domain/graph-view.ts";
import type { PlannedGraph } from "../../domain/resource-graph.ts";
import { findState } from "../../store/states/states.ts";
import type { UserCaller } from "../callers.ts";
import { findNamed } from "../configurations/configurations.ts";
import type { Context } from "../context.ts";
import { drawApart, type Undrawn } from "./draw-apart.ts";
import type { Graph } from "./draw-here.ts";

/** Reading a state of 16 MiB took 135 to 172 MiB of memory, with 700 to 43,000 resources. */
export const drawnStateLimit = 16 * mebibyte;

export interface StateGraph {
  /** The newest version of the state; null if there is none. */
  readonly serial: number | null;
  readonly graph: Graph | Undrawn | "no state" | "too large";
}

export async function drawState(
  { store: { read }, blobs }: Context,
  { space_id }: UserCaller,
  name: string,
  choice: GraphChoice,
  plan?: PlannedGraph,
): Promise<StateGraph> {
  const { id: spec } = await findNamed(read, space_id, name);
  const state = await read.first(findState, { spec });
  if (!state && !plan) return { serial: null, graph: "no state" };
  const serial = state?.serial ?? null;
  if (state && state.size_bytes > drawnStateLimit) return { serial, graph: "too large" };
  const sources = async () => ({
    state: state && (await buffer(await blobs.read(state.blob))),
    plan,
    choice,
  });
  return { serial, graph: await drawApart(space_id, sources) };
}
