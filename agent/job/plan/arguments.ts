/** Arguments of plan and apply that a configuration can set. */
import { lstatSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { StepFailedError, type JobContext } from "../context.ts";

/** `-parallelism`, within the limits of the wire, because another server may send any number. */
export function parallelismOf({ claim: { job } }: JobContext): string[] {
  const { parallelism } = job.config_snapshot;
  return Number.isInteger(parallelism) && Number(parallelism) >= 1 && Number(parallelism) <= 256
    ? [`-parallelism=${parallelism}`]
    : [];
}

/** How a PLAN differs from an ordinary one. Only OpenTofu, since 1.9, has `-exclude`. */
export function planOptionsOf({ claim: { job } }: JobContext): string[] {
  const {
    destroy,
    refresh_only,
    targets = [],
    replace = [],
    exclude = [],
  } = job.plan_options ?? {};
  return [
    ...(destroy ? ["-destroy"] : []),
    ...(refresh_only ? ["-refresh-only"] : []),
    ...targets.map((address) => `-target=${address}`),
    ...replace.map((address) => `-replace=${address}`),
    ...exclude.map((address) => `-exclude=${address}`),
  ];
}

/** `-var-file` for each file of variables in the source. */
export const varFilesOf = (context: JobContext): string[] =>
  pathsOf(context).map(({ path }) => `-var-file=${path}`);

/** Throws unless each is a plain file of the source whose path contains no link. */
export function checkVarFiles(context: JobContext): void {
  const top = context.workspace.source;
  for (const { name, path } of pathsOf(context)) {
    if (!isPlain(join(realpathSync(top), relative(top, path))))
      throw new StepFailedError(
        `plan: var_files names "${name}", which is not a regular file of the source (links are not followed)`,
      );
  }
}

function pathsOf({ claim: { job }, workspace }: JobContext): { name: string; path: string }[] {
  const { var_files = [], source } = job.config_snapshot;
  const top = join(workspace.source, source?.type === "git" ? (source.path ?? "") : "");
  return var_files.map((name) => {
    if (name.split("/").some((part) => part === "" || part === "." || part === ".."))
      throw new StepFailedError(`plan: "${name}" in var_files is not a path inside the source`);
    return { name, path: join(top, name) };
  });
}

function isPlain(path: string): boolean {
  try {
    return realpathSync(path) === path && lstatSync(path).isFile();
  } catch {
    return false;
  }
}
