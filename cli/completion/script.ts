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
  return { bash, zsh, fish }[shell](places);
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

/** The places that have a name, as patterns of the shell. */
const named = (places: readonly Place[]): string[] =>
  places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));

/** What stands beside a word: the beginning of its description. */
const short = (meaning: string): string => meaning.split(/[;:,]/)[0] ?? "";

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Where nothing fits, files are offered: `--dir`, `--file`. */
function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, words }) =>
      `    ${quoted(path)}) words=${quoted(words.map(({ word }) => word).join(" "))} ;;`,
  );
  return `_windlass() {
  local current=\${COMP_WORDS[COMP_CWORD]} place='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place $word" in
      ${named(places).join("|")}) place="$place $word" ;;
    esac
  done
  case "$place" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _windlass windlass
`;
}

function zsh(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, words }) =>
      `    ${quoted(path)}) offered=(${words.map(({ word, meaning }) => quoted(`${word}:${short(meaning)}`)).join(" ")}) ;;`,
  );
  return `_windlass() {
  local place='' word
  local -a offered
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      (${named(places).join("|")}) place="$place $word" ;;
    esac
  done
  case "$place" in
${cases.join("\n")}
  esac
  _describe windlass offered || _files
}
compdef _windlass windlass
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words }) =>
    words.map(({ word, meaning }) => {
      const kind = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      const condition = quoted(`__windlass_at "${path}"`);
      return `complete -c windlass -n ${condition} ${kind} -d ${quoted(short(meaning))}`;
    }),
  );
  return `function __windlass_at
  set -l path ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$path $word" ${named(places).join(" ")}
      set path "$path $word"
    end
  end
  test "$path" = "$argv[1]"
end
${lines.join("\n")}
`;
}
