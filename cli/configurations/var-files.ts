/**
 * `--var-file`: JSON is read here, and HCL by terraform on the runner, because only terraform reads
 * all of its language.
 */
import { statSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { fileErrorText } from "../../common/file-errors.ts";
import { CliError } from "../terminal/output.ts";

interface Options {
  readonly varFile?: string[] | undefined;
}

/** Whether a variable file is in HCL. */
export const isTerraform = (file: string): boolean => file.endsWith(".tfvars");

/** The variable files of a configuration that are in the directory, and so are uploaded with it. */
export const existingVarFiles = (root: string, paths: readonly string[]): string[] =>
  paths
    .filter(isTerraform)
    .filter((path) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile());

export const jsonFilesOf = ({ varFile = [] }: Options): string[] =>
  varFile.filter((file) => !isTerraform(file));

/**
 * The files in HCL, as paths in the directory that is uploaded. Throws `CliError` if one is not in
 * it.
 */
export function terraformFilesOf({ varFile = [] }: Options, root: string | undefined): string[] {
  return varFile.filter(isTerraform).map((file) => {
    try {
      if (!statSync(file).isFile()) throw new Error("it is not a file");
    } catch (error) {
      throw new CliError(`"${file}" cannot be read: ${fileErrorText(error)}`, 2);
    }
    if (root === undefined)
      throw new CliError(
        `"${file}" is read on the runner, so it must be uploaded: pass --dir too. For a file of the source, pass --source-var-file; for a file that stays here, use the JSON form, .tfvars.json.`,
        2,
      );
    const path = relative(resolve(root), resolve(file));
    if (path.startsWith(`..${sep}`) || path === "..")
      throw new CliError(
        `"${file}" is read on the runner, so it must be inside ${root}, which is uploaded. Move it there, or use the JSON form, .tfvars.json.`,
        2,
      );
    return path.split(sep).join("/");
  });
}
