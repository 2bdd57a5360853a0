import { hour } from "../../common/units.ts";

/** Periods in milliseconds; Infinity keeps all. */
export interface Retention {
  /** A log, after its job's end. */
  readonly logs: number;
  /** After the last job that used a plan artifact ended, or an archive was last named. */
  readonly artifacts: number;
  /** The newest `stateVersions` of a state are kept however old. */
  readonly states: number;
  readonly stateVersions: number;
}

/** Between two rounds: an hour, or less where something is kept for less than a day. */
export function roundMilliseconds({ logs, artifacts, states }: Retention): number {
  return Math.max(50, Math.min(hour, Math.min(logs, artifacts, states) / 24));
}
