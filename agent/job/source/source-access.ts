/**
 * The credentials that a claim has for its source. They are in no journal but in a file of the job,
 * which is removed when the source is fetched; until then, a restarted agent needs them.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { readIfExists } from "../../../common/files.ts";
import type { ClaimedJob, SourceAccess } from "../../../protocol/executions.ts";
import { writeWhole } from "../../machine/files.ts";
import type { JobContext } from "../context.ts";
import { conceal } from "../secrets.ts";
import { accessTo, secretsOfGitAccess, type GitAccess } from "./git-access.ts";

const fileIn = (directory: string): string => join(directory, "source-access.json");

/** Writes the credentials into the job's directory, and returns the claim without them. */
export function setAccessApart(claim: ClaimedJob, directory: string): ClaimedJob {
  const { source_access: access, ...job } = claim.job;
  forgetAccess(directory);
  if (access) writeWhole(fileIn(directory), JSON.stringify(access));
  return { ...claim, job };
}

/** Returns what git may use for this repository, after the log masks it. */
export function accessOf(context: JobContext, repository: string): readonly GitAccess[] {
  const { gitAccess } = context.settings;
  const text = readIfExists(fileIn(context.directory));
  if (text === undefined) return gitAccess;
  const { username, token } = JSON.parse(text) as SourceAccess;
  const access = accessTo(repository, username, token);
  conceal(context, secretsOfGitAccess(access));
  return [...access, ...gitAccess];
}

export const forgetAccess = (directory: string): void => rmSync(fileIn(directory), { force: true });
