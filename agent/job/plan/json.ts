/** Reads `show -json` as a stream: it may have many times the agent's memory. */
import { createReadStream, readFileSync, statSync } from "node:fs";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { Dependencies, dependencyPaths } from "./dependencies.ts";
import { parseNumber } from "./large-number.ts";
import { PlanSummarizer, type Check, type ResourceChange } from "./summary.ts";
import { TargetMatches } from "./targets.ts";
import type { Secrecy } from "../../../common/redaction/secrecy.ts";
import { mebibyte } from "../../../common/units.ts";

export interface PlanFacts {
  readonly errored: boolean;
  readonly summary: PlanSummary;
  /** The targets that match no resource that the plan changes. */
  readonly unmatched: readonly string[];
}

export async function readPlan(
  file: string,
  secrecy: Secrecy,
  targets: readonly string[] = [],
): Promise<PlanFacts> {
  // Takes 6 ms to load, and no other step needs it.
  const { Tokenizer, TokenParser } = await import("@streamparser/json");
  const tokenizer = new (class extends Tokenizer {
    protected override parseNumber(text: string): number {
      // Its type is too narrow: the token parser takes any value.
      return parseNumber(text) as number;
    }
  })();
  const lists = ["resource_changes", "resource_drift", "output_changes", "checks"];
  const facts = ["errored", "applyable", "complete"] as const;
  const parser = new TokenParser({
    paths: [
      ...facts.map((name) => `$.${name}`),
      ...lists.map((name) => `$.${name}.*`),
      ...dependencyPaths,
    ],
    keepStack: false,
  });
  tokenizer.onToken = (token) => parser.write(token);
  const summarizer = new PlanSummarizer(secrecy);
  const matches = new TargetMatches(targets);
  const dependencies = new Dependencies();
  // OpenTofu leaves `errored` out of a plan without errors.
  const said: Partial<Record<(typeof facts)[number], boolean>> = {};
  parser.onValue = ({ value, key, stack }) => {
    const list = stack[1]?.key;
    if (list === "resource_changes") {
      const resource = value as unknown as ResourceChange;
      summarizer.resource(resource);
      matches.resource(resource);
    } else if (list === "resource_drift") summarizer.drift(value as unknown as ResourceChange);
    else if (list === "output_changes")
      summarizer.output(String(key), value as unknown as ResourceChange["change"]);
    else if (list === "checks") summarizer.check(value as unknown as Check);
    else if (list === "configuration")
      dependencies.add([...stack.slice(1).map((one) => one.key), key], value);
    else said[key as (typeof facts)[number]] = value === true;
  };
  // A stream takes longer to set up than a usual plan takes to read.
  if (statSync(file).size <= smallFile) tokenizer.write(readFileSync(file));
  else for await (const part of createReadStream(file)) tokenizer.write(part as Buffer);
  if (!tokenizer.isEnded) tokenizer.end();
  if (!parser.isEnded) parser.end();
  const summary = summarizer.summary(said, dependencies);
  return { errored: said.errored === true, summary, unmatched: matches.unmatched };
}

const smallFile = mebibyte;
