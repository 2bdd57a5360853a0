/** `npm run prove` runs long and repeated forms of the tests. */
export const proving = process.env["WINDLASS_PROVE"] === "1";

/**
 * `test.for(underProve)` defines a test that only `npm run prove` runs, because the suite has a
 * shorter form of it.
 */
export const underProve: readonly string[] = proving ? ["npm run prove"] : [];
