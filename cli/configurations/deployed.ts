/** What is deployed of a configuration, in words. */
import type { Deployed } from "../../protocol/deployed.ts";
import { resourcesText } from "../../protocol/words.ts";
import { ago } from "../terminal/times.ts";

/** Returns `3 resources, 5m ago`; of a state that the server does not keep, only the time. */
export const deployedInShort = ({ serial, resources, at }: Deployed): string =>
  serial === null ? ago(at) : `${resourcesText(resources)}, ${ago(at)}`;

/**
 * Such as `3 resources, 5m ago by ada@example.com, serial 7, job 01890a5d-…`; of a state that a
 * user stored: `3 resources, stored 5m ago by ada@example.com, serial 7`.
 */
export function deployedText(deployed: Deployed): string {
  const { resources, at, serial, job_id, by } = deployed;
  return [
    serial === null ? "" : resourcesText(resources),
    `${job_id === null ? "stored " : ""}${ago(at)}${by === null ? "" : ` by ${by}`}`,
    serial === null ? "" : `serial ${serial}`,
    job_id === null ? "" : `job ${job_id}`,
  ]
    .filter(Boolean)
    .join(", ");
}
