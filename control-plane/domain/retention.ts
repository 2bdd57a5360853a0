/** How long content is kept. */
import { hour } from "../../common/units.ts";

/** Periods in milliseconds; Infinity keeps all. */
export interface Retention {
  /** A log, after its job's end. */
  readonly logs: number;
  /**
   * A plan artifact, after the end of its job and of every job that used it; an archive, after a
   * configuration or an unended job last named it.
   */
  readonly artifacts: number;
  /**
   * A version of a state, after it was written; the newest `stateVersions` of a state are kept
   * however old.
   */
  readonly states: number;
  readonly stateVersions: number;
}

/** Between two rounds: an hour, or less where something is kept for less than a day. */
export function roundMilliseconds({ logs, artifacts, states }: Retention): number {
  return Math.max(50, Math.min(hour, Math.min(logs, artifacts, states) / 24));
}
