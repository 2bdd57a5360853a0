/** Versions of runners. */
import lt from "semver/functions/lt.js";
import valid from "semver/functions/valid.js";

/** Whether a runner's version is known to be lower than the highest published one. What is no version says nothing. */
export const isBehind = (version: string | null, latest: string | null): boolean =>
  valid(version) !== null && valid(latest) !== null && lt(version ?? "", latest ?? "");
