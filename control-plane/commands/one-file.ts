/** Parses the command line of `windlass server backup` and `restore`: one switch, one FILE. */
import { parseArgs } from "node:util";

/**
 * Returns the file and whether the switch is on. Returns undefined after it has printed `usage`:
 * for `--help`, or for wrong usage (exit code 2). Throws for an unknown option.
 */
export function readOneFile(
  args: string[],
  name: string,
  usage: string,
): { file: string; isOn: boolean } | undefined {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { [name]: { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
  const [file] = positionals;
  if (values["help"]) process.stdout.write(usage);
  else if (file && positionals.length === 1) return { file, isOn: values[name] === true };
  else {
    process.stderr.write(usage);
    process.exitCode = 2;
  }
  return undefined;
}
