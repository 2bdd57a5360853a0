/** Words and limits of the wire without its schemas, for those who only call: the schemas are a fifth of an idle agent's memory. */

export const jobTypes = ["PLAN", "DEPLOY", "DESTROY", "DESTROY_WORKER"] as const;

/** Seconds, for a job that names none. */
export const timeoutSecondsDefault = 3600;

/** The interface's limit of a plan artifact: 50 MB, read as 50 MiB. */
export const planArtifactLimit = 52_428_800;

/** A debug log, packed. */
export const debugLogLimit = 100 * 1024 * 1024;

/** An address or attribute path of a plan summary longer than this is cut, with an ellipsis. */
export const planTextLimit = 1024;
/** Each of its lists has at most this many entries; how many more there are is said beside it. */
export const planListLimit = 2000;
/** The whole summary as JSON; longer lists are cut to fit. */
export const planSummaryLimit = 512 * 1024;
