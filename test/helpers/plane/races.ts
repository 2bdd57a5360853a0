/** Requests that race, at one control plane or at two of one database. */
import { proving } from "../project/proving.ts";
import type { Plane } from "./plane.ts";

/** Two control planes of one database, or the same one twice. */
export interface Planes {
  readonly first: Plane;
  readonly second: Pick<Plane, "url">;
}

/** `npm run prove` repeats each race 1,000 times. Four rounds have each form of every race. */
const rounds = proving ? 1000 : 4;

/** Until a race that hangs is ended. */
export const patience = proving ? 3_600_000 : 120_000;

/** Runs a race again and again. */
export async function repeat(body: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < rounds; round += 1) await body(round);
}
