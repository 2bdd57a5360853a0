/** What is deployed of a configuration, in words. */
import type { Deployed } from "../../protocol/configurations.ts";
import { ago } from "../terminal/times.ts";

/** Returns `3 resources`. */
export const resourcesText = ({ resources }: Deployed): string =>
  resources === null ? "in its own backend" : `${resources} resource${resources === 1 ? "" : "s"}`;

/** Returns `3 resources, 5m ago by ada@example.com, serial 7, job 01890a5d-…`. */
export function deployedText(deployed: Deployed): string {
  const { serial, at, job_id, by } = deployed;
  const when = `${job_id === null ? "rolled back " : ""}${ago(at)}${by === null ? "" : ` by ${by}`}`;
  const details = [
    serial === null ? "" : `serial ${serial}`,
    job_id === null ? "" : `job ${job_id}`,
  ];
  return [resourcesText(deployed), when, ...details].filter(Boolean).join(", ");
}
