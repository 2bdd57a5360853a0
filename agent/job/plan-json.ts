/** Reads `show -json` of a plan as a stream: the JSON of a large state can be many times the agent's memory. */
import { createReadStream, readFileSync, statSync } from "node:fs";

export interface PlanFacts {
  readonly errored: boolean;
  /** Resources that the plan destroys, those that it replaces included. */
  readonly deletes: number;
}

/** Reads what counts of a plan as `show -json` writes it, as a stream: it may be hundreds of megabytes. */
export async function readPlan(file: string): Promise<PlanFacts> {
  // 6 ms to load and needed by no other step.
  const { JSONParser } = await import("@streamparser/json");
  const parser = new JSONParser({
    paths: ["$.errored", "$.resource_changes.*.change.actions"],
    keepStack: false,
  });
  // OpenTofu leaves `errored` out of a plan that is fine.
  let errored = false;
  let deletes = 0;
  parser.onValue = ({ value, key }) => {
    if (key === "errored") errored = value === true;
    else if (Array.isArray(value) && value.includes("delete")) deletes++;
  };
  // A stream takes longer to set up than a usual plan takes to read.
  if (statSync(file).size <= smallFile) parser.write(readFileSync(file));
  else for await (const part of createReadStream(file)) parser.write(part as Buffer);
  if (!parser.isEnded) parser.end();
  return { errored, deletes };
}

const smallFile = 1024 * 1024;
