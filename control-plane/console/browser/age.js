// @ts-check
/** How long ago a moment was, in how long it comes, and how long something took. */

const units = /** @type {const} */ ([
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
]);

/**
 * Beyond a month a date says more. The number is rounded, so that what was made for 7 days says so
 * a second later too. @param {number} milliseconds @param {string} utc
 */
export function age(milliseconds, utc) {
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  if (seconds >= 30 * 86_400) return utc.slice(0, 10);
  // 59 min 40 s are 1 h.
  const [size, unit] = units.find(([length], at) => {
    const [smaller] = units[at + 1] ?? [1];
    return Math.round(seconds / smaller) * smaller >= length;
  }) ?? [1, "s"];
  const length = `${Math.round(seconds / size)}\u00a0${unit}`;
  return milliseconds > 1000 ? `in\u00a0${length}` : `${length}\u00a0ago`;
}

/** `0.4 s`, `3 min 20 s`, `2 h 5 min`; a second part of 0 is left out. @param {number} milliseconds */
export function took(milliseconds) {
  if (milliseconds < 59_950) return `${Math.round(milliseconds / 100) / 10}\u00a0s`;
  const seconds = Math.round(milliseconds / 1000);
  const [size, unit, smaller] = seconds < 3600 ? [60, "min", "s"] : [3600, "h", "min"];
  const rest = Math.floor((seconds % size) / (size / 60));
  return `${Math.floor(seconds / size)}\u00a0${unit}${rest ? `\u00a0${rest}\u00a0${smaller}` : ""}`;
}
