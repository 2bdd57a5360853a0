/** Generates shell completion scripts from the parser. The scripts do not start windlass. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";

type Shell = "bash" | "zsh" | "fish";

/** A position on the command line: the words before it, and the words that may follow. */
interface Place {
  /** The words before it, such as ` jobs list`; empty at the start. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly meaning: string }[];
}

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

/** Returns the non-empty paths as shell patterns. */
const named = (places: readonly Place[]): string[] =>
  places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));

/** Returns the part of a description before its first punctuation mark. */
const short = (meaning: string): string => meaning.split(/[;:,]/)[0] ?? "";

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Offers file names where no word matches, as after `--dir` or `--file`. */
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
