/** What is deployed of a configuration, in words. */
import type { Deployed } from "../../protocol/deployed.ts";
import { ago } from "../terminal/times.ts";

/** Returns `3 resources, 5m ago`; of a state that the server does not keep, only the time. */
export const deployedInShort = ({ resources, at }: Deployed): string =>
  resources === null ? ago(at) : `${resourcesText(resources)}, ${ago(at)}`;

/**
 * Returns `3 resources, 5m ago by ada@example.com, serial 7, job 01890a5d-…`; of a state that a user
 * has stored, `3 resources, stored 5m ago by ada@example.com, serial 7`.
 */
export function deployedText(deployed: Deployed): string {
  const { resources, at, serial, job_id, by } = deployed;
  return [
    resources === null ? "" : resourcesText(resources),
    `${job_id === null ? "stored " : ""}${ago(at)}${by === null ? "" : ` by ${by}`}`,
    serial === null ? "" : `serial ${serial}`,
    job_id === null ? "" : `job ${job_id}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** Returns `1 resource` or `3 resources`. */
export const resourcesText = (count: number): string =>
  `${count} resource${count === 1 ? "" : "s"}`;
