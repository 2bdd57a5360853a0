/** What is deployed of a configuration, in words. */
import type { Deployed } from "../../protocol/deployed.ts";
import { ago } from "../terminal/times.ts";

/** Returns `3 resources, 5m ago`; of a state that the server does not keep, only the time. */
export const deployedInShort = ({ resources, at }: Deployed): string =>
  resources === null ? ago(at) : `${resources} resource${resources === 1 ? "" : "s"}, ${ago(at)}`;

/** Returns `3 resources, 5m ago by ada@example.com, serial 7, job 01890a5d-…`. */
export function deployedText(deployed: Deployed): string {
  const { serial, job_id, by } = deployed;
  return [
    `${deployedInShort(deployed)}${by === null ? "" : ` by ${by}`}`,
    serial === null ? "" : `serial ${serial}`,
    job_id === null ? "stored by a user" : `job ${job_id}`,
  ]
    .filter(Boolean)
    .join(", ");
}
