/** Reads `show -json` as a stream: it may have many times the agent's memory. */
import { createReadStream, readFileSync, statSync } from "node:fs";
import { localModulesLimit, planTextLimit } from "../../../protocol/limits.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import type { DigestOptions } from "./canonical-hash.ts";
import { ConfigurationReader, sourcePaths } from "./configuration.ts";
import { Dependencies, dependencyPaths } from "./dependencies.ts";
import { PlanDigest } from "./digest.ts";
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
  /**
   * The directory of the configuration and those of its local modules, if a digest was asked for;
   * undefined if they are too many to tell.
   */
  readonly directories?: readonly string[] | undefined;
}

export interface DigestRequest extends DigestOptions {
  /** The directory of the configuration, relative to the source. */
  readonly folder: string;
}

export async function readPlan(
  file: string,
  secrecy: Secrecy,
  targets: readonly string[] = [],
  request?: DigestRequest,
): Promise<PlanFacts> {
  const lists = ["resource_changes", "resource_drift", "output_changes", "checks"];
  const facts = ["errored", "applyable", "complete"] as const;
  const paths = [
    ...facts.map((name) => `$.${name}`),
    ...lists.map((name) => `$.${name}.*`),
    ...dependencyPaths,
    ...(request ? sourcePaths : []),
  ];
  const summarizer = new PlanSummarizer(secrecy);
  const matches = new TargetMatches(targets);
  const dependencies = new Dependencies();
  const digest = request && new PlanDigest(request);
  const configuration = request && new ConfigurationReader();
  // OpenTofu leaves `errored` out of a plan without errors.
  const said: Partial<Record<(typeof facts)[number], boolean>> = {};
  await readParts(file, paths, (value, list, keys) => {
    const key = keys.at(-1);
    if (list === "resource_changes") {
      const resource = value as ResourceChange;
      summarizer.resource(resource);
      digest?.resource(resource);
      matches.resource(resource);
    } else if (list === "resource_drift") summarizer.drift(value as ResourceChange);
    else if (list === "output_changes") {
      summarizer.output(String(key), value as ResourceChange["change"]);
      digest?.output(String(key), value as ResourceChange["change"]);
    } else if (list === "checks") summarizer.check(value as Check);
    else if (list === "configuration") {
      configuration?.add(keys, value);
      if (!isModuleSource(keys)) dependencies.add(keys, value);
    } else said[key as (typeof facts)[number]] = value === true;
  });
  const found = request && configuration?.facts(request.folder);
  const more = found && {
    ...digest?.result(),
    has_provisioners: found.hasProvisioners,
    local_modules: shownModules(found.directories ?? []),
  };
  const summary = summarizer.summary(said, dependencies, more);
  const directories = request && found?.directories && [request.folder, ...found.directories];
  return { errored: said.errored === true, summary, unmatched: matches.unmatched, directories };
}

/** Calls `take` with each value at one of these paths, the first key and all keys that lead to it. */
export async function readParts(
  file: string,
  paths: readonly string[],
  take: (value: unknown, list: unknown, keys: readonly unknown[]) => void,
): Promise<void> {
  // Takes 6 ms to load, and no other step needs it.
  const { Tokenizer, TokenParser } = await import("@streamparser/json");
  const tokenizer = new (class extends Tokenizer {
    protected override parseNumber(text: string): number {
      // Its type is too narrow: the token parser takes any value.
      return parseNumber(text) as number;
    }
  })();
  const parser = new TokenParser({ paths: [...paths], keepStack: false });
  tokenizer.onToken = (token) => parser.write(token);
  parser.onValue = ({ value, key, stack }) => {
    const keys = [...stack.slice(1).map((one) => one.key), key];
    take(value, keys[0], keys);
  };
  // A stream takes longer to set up than a usual plan takes to read.
  if (statSync(file).size <= smallFile) tokenizer.write(readFileSync(file));
  else for await (const part of createReadStream(file)) tokenizer.write(part as Buffer);
  if (!tokenizer.isEnded) tokenizer.end();
  if (!parser.isEnded) parser.end();
}

/** Outputs may have this name too. */
const isModuleSource = (keys: readonly unknown[]): boolean =>
  keys.at(-3) === "module_calls" && keys.at(-1) === "source";

const shownModules = (directories: readonly string[]): string[] =>
  directories.filter(({ length }) => length <= planTextLimit).slice(0, localModulesLimit);

const smallFile = mebibyte;
