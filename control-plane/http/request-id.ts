import { randomBytes } from "node:crypto";

/** A well-formed id of the caller is adopted, so that its log and ours can be joined. */
export function requestId(given: string | string[] | undefined): string {
  return typeof given === "string" && /^[\w.:-]{1,100}$/.test(given)
    ? given
    : `${processId}-${(counter += 1).toString(36)}`;
}

/** Ours: unique by process and number, and cheaper than a random one per poll. */
const processId = randomBytes(6).toString("hex");
let counter = 0;
