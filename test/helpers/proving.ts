/** `npm run prove`: long and repeated forms of the suite's tests. */
export const proving = process.env["WINDLASS_PROVE"] === "1";

/** `test.for(underProve)` defines a test that only `npm run prove` runs, because the suite has a shorter form of what it shows. */
export const underProve: readonly string[] = proving ? ["npm run prove"] : [];
