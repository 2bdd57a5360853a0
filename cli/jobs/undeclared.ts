/** Variables of a configuration that its files do not declare: terraform only warns of them. */
import type { Job } from "../../protocol/jobs.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { shellWord } from "../../common/shell-word.ts";
import { withoutControlSequences } from "../../common/control-sequences.ts";

/** Finds their names in terraform's output, which is read in pieces. */
export function undeclaredVariables() {
  const names = new Set<string>();
  let last = "";
  return {
    names,
    read(text: string): void {
      // The lines of a warning are wrapped, and each begins with a bar.
      last = (last + withoutControlSequences(text)).replaceAll(/\s*\n(?:│\s*)?/g, " ");
      for (const [, name = ""] of last.matchAll(/not declare a variable named "([^"]{1,200})"/g))
        names.add(name);
      last = last.slice(-pieceLength);
    },
  };
}

/** Characters that are read again with the next piece. */
const pieceLength = 500;

/** Says how to remove them, if they are of the configuration itself. */
export async function noteUndeclared(
  run: Run,
  { configuration_id: id }: Job,
  names: ReadonlySet<string>,
): Promise<void> {
  if (names.size === 0 || id === null) return;
  const { name, variables = {} } = await run.api.call("getConfiguration", { params: { name: id } });
  const own = [...names].filter((one) => Object.hasOwn(variables, one));
  if (own.length === 0) return;
  const options = own.map((one) => `--unset ${shellWord(one)}`).join(" ");
  const what = own.length === 1 ? `variable "${own[0]}"` : `variables ${own.join(", ")}`;
  run.done(
    `The files do not declare the ${what}. To remove ${own.length === 1 ? "it" : "them"}: windlass configurations update ${shellWord(name)} ${options}${teamWords(run.api.team)}`,
  );
}
