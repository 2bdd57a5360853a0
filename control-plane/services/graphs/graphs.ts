/** Resource graphs for users. They contain addresses of resources and no values. */
import { buffer } from "node:stream/consumers";
import { mebibyte, second } from "../../../common/units.ts";
import type { GraphChoice } from "../../domain/graph-view.ts";
import type { PlannedGraph } from "../../domain/resource-graph.ts";
import { findState } from "../../store/states/states.ts";
import type { UserCaller } from "../callers.ts";
import { findNamed } from "../configurations/configurations.ts";
import type { Context } from "../context.ts";
import { readWithin } from "../storage/stored-content.ts";
import { drawApart, type Undrawn } from "./draw-apart.ts";
import type { Graph } from "./draw-here.ts";

/** Reading a state of 16 MiB took 135 to 172 MiB of memory, with 700 to 43,000 resources. */
export const drawnStateLimit = 16 * mebibyte;

/** Others wait for their graphs meanwhile. */
const readingLimit = 30 * second;

export interface StateGraph {
  /** The newest version of the state; null if there is none. */
  readonly serial: number | null;
  readonly graph: Graph | Undrawn | "no state" | "too large";
}

export async function drawState(
  context: Context,
  { space_id, user_id }: UserCaller,
  name: string,
  choice: GraphChoice,
  plan?: PlannedGraph,
): Promise<StateGraph> {
  const { read } = context.store;
  const { id: spec } = await findNamed(read, space_id, name);
  const state = await read.first(findState, { spec });
  if (!state && !plan) return { serial: null, graph: "no state" };
  const serial = state?.serial ?? null;
  if (state && state.size_bytes > drawnStateLimit) return { serial, graph: "too large" };
  const sources = async () => ({
    state: state && (await buffer(readWithin(context, state.blob, readingLimit))),
    plan,
    choice,
  });
  return { serial, graph: await drawApart(user_id, sources) };
}
