/** Scripts with which a shell completes the commands: made from the parser, so they know what it knows, and need no run of it. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";

type Shell = "bash" | "zsh" | "fish";

/** One place on the command line: the words before it, and what may follow. */
interface Place {
  /** Such as ` jobs list`; empty at the beginning. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly meaning: string }[];
}

/** The script for a shell. */
export function completionScript(program: CommandUnknownOpts, shell: Shell): string {
  const places = placesOf(program, "", program);
  return shell === "fish" ? fish(places) : bash(places, shell);
}

function placesOf(command: CommandUnknownOpts, path: string, program: CommandUnknownOpts): Place[] {
  const options = [...command.options, ...(command === program ? [] : program.options)];
  const here = {
    path,
    words: [
      ...command.commands.map((one) => ({ word: one.name(), meaning: one.description() })),
      ...options.map(({ long, description }) => ({ word: long ?? "", meaning: description })),
      { word: "--help", meaning: "print this help" },
    ].filter(({ word }) => word !== ""),
  };
  const below = command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`, program));
  return [here, ...below];
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Zsh reads bash's completions by bashcompinit. Where nothing fits, files are offered: `--dir`, `--file`. */
function bash(places: readonly Place[], shell: Shell): string {
  const known = places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  const cases = places.map(
    ({ path, words }) =>
      `    ${quoted(path)}) words=${quoted(words.map(({ word }) => word).join(" "))} ;;`,
  );
  return `${shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""}_windlass() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
      ${known.join("|")}) path="$path $word" ;;
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _windlass windlass
`;
}

function fish(places: readonly Place[]): string {
  const known = places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  const lines = places.flatMap(({ path, words }) =>
    words.map(({ word, meaning }) => {
      const kind = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      const condition = quoted(`__windlass_at "${path}"`);
      return `complete -c windlass -n ${condition} ${kind} -d ${quoted(meaning.split(/[;:,]/)[0] ?? "")}`;
    }),
  );
  return `function __windlass_at
  set -l path ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$path $word" ${known.join(" ")}
      set path "$path $word"
    end
  end
  test "$path" = "$argv[1]"
end
${lines.join("\n")}
`;
}
