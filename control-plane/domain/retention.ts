/** How long things are kept. */

/** Periods in milliseconds; `forever` keeps all. */
export interface Retention {
  /** A log, after its job's end. */
  readonly logs: number;
  /** A plan artifact, after the end of its job and of every job that used it. */
  readonly artifacts: number;
  /** An archive, after a configuration or an unended job last named it. */
  readonly archives: number;
  /** A version of a state, after it was written; the newest `stateVersions` of a state are kept however old. */
  readonly states: number;
  readonly stateVersions: number;
}

export const day = 24 * 3600_000;
export const forever = Infinity;

/** Between two rounds: an hour, or less where something is kept for less than a day. */
export function roundMilliseconds({ logs, artifacts, archives, states }: Retention): number {
  return Math.max(50, Math.min(3600_000, Math.min(logs, artifacts, archives, states) / 24));
}
