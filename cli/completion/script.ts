/**
 * Generates shell completion scripts from the parser. They ask windlass only for names, such as of
 * configurations, and remember them for a while.
 */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";

type Shell = "bash" | "zsh" | "fish";

/** What has names that the server knows. */
const kinds = [
  "configurations",
  "zones",
  "variable-sets",
  "teams",
  "workers",
  "identities",
  "connections",
  "notifications",
  "schedules",
  "jobs",
  // Deployments that the user can approve.
  "approvals",
] as const;
export type Kind = (typeof kinds)[number];

interface Offer {
  readonly word: string;
  readonly meaning: string;
}

/** A position on the command line: the words before it, and the words that may follow. */
interface Place {
  /** The words before it, such as ` jobs list`; empty at the start. */
  readonly path: string;
  readonly commands: readonly Offer[];
  readonly options: readonly (Offer & { readonly value: Value | undefined })[];
  /** What its first argument names. */
  readonly names: Kind | undefined;
}

/** What may follow an option: one of these words, or a name of this kind; else the user knows. */
interface Value {
  readonly words?: readonly string[] | undefined;
  readonly names?: Kind | undefined;
}

/** `roles`: verbs that the parser does not know, such as those of `windlass server`. */
export function completionScript(
  program: CommandUnknownOpts,
  shell: Shell,
  roles: ReadonlyMap<string, readonly string[]>,
): string {
  const places = placesOf(program, "", program).map((place) => {
    const verbs = roles.get(place.path.trim());
    return verbs === undefined ? place : placeOfRole(place, verbs);
  });
  return { bash, zsh, fish }[shell](places);
}

const isKind = (word: string): word is Kind => (kinds as readonly string[]).includes(word);

/** The options whose value is a name. */
const namedByOption: Readonly<Record<string, Kind>> = {
  "--configuration": "configurations",
  "--connection": "connections",
  "--deploy-configuration": "configurations",
  "--identity": "identities",
  "--plan": "jobs",
  "--team": "teams",
  "--worker": "workers",
  "--zone": "zones",
};
const namedByArgument: Readonly<Record<string, Kind>> = {
  configuration: "configurations",
  job: "jobs",
  team: "teams",
  worker: "workers",
};

function placesOf(command: CommandUnknownOpts, path: string, program: CommandUnknownOpts): Place[] {
  const options = [...command.options, ...(command === program ? [] : program.options)];
  const here: Place = {
    path,
    commands: [
      ...command.commands.map((one) => ({ word: one.name(), meaning: one.description() })),
      ...(command.registeredArguments[0]?.argChoices ?? []).map((word) => ({ word, meaning: "" })),
    ],
    options: [
      ...options
        .filter(({ long, hidden }) => long && !hidden)
        .map(({ long, description, required, argChoices }) => ({
          word: long ?? "",
          meaning: description,
          value: required ? { words: argChoices, names: namedByOption[long ?? ""] } : undefined,
        })),
      { word: "--help", meaning: "print this help", value: undefined },
    ],
    names: kindOf(command, path),
  };
  const below = command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`, program));
  return [here, ...below];
}

/** A role has none of the options of the client. */
const placeOfRole = (place: Place, verbs: readonly string[]): Place => ({
  ...place,
  commands: verbs.map((word) => ({ word, meaning: "" })),
  options: place.options.filter(({ word }) => word === "--help" || word === "--version"),
});

/** What the first argument of a command names: `<configuration>`, or the `<name>` of its noun. */
function kindOf(command: CommandUnknownOpts, path: string): Kind | undefined {
  const argument = command.registeredArguments[0]?.name() ?? "";
  const [noun = ""] = path.trim().split(" ");
  if (path === " jobs approve" || path === " jobs reject") return "approvals";
  if (argument === "name" && isKind(noun) && command.name() !== "create") return noun;
  return namedByArgument[argument];
}

/** Returns the non-empty paths as shell patterns. */
const named = (places: readonly Place[]): string[] =>
  places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));

/** Returns the part of a description before its first punctuation mark. */
const short = (meaning: string): string => meaning.split(/[;:,(]/)[0]?.trim() ?? "";

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const wordsOf = (offers: readonly Offer[]): string =>
  quoted(offers.map(({ word }) => word).join(" "));

/** What may follow each option with a value, once for options that mean the same everywhere. */
function valuesOf(places: readonly Place[]): [pattern: string, value: Value][] {
  const uses = places.flatMap(({ path, options }) =>
    options.flatMap(({ word, value }) => (value ? [{ path, word, value }] : [])),
  );
  return [...Map.groupBy(uses, ({ word }) => word)].flatMap(([word, all]) => {
    const byMeaning = new Map(all.map(({ value }) => [JSON.stringify(value), value]));
    return byMeaning.size === 1
      ? [...byMeaning.values()].map((value): [string, Value] => [`*${quoted(` ${word}`)}`, value])
      : all.map(({ path, value }): [string, Value] => [quoted(`${path} ${word}`), value]);
  });
}

/** Lines of a `case` that set `words` and `names` after an option. */
const valueCases = (places: readonly Place[], set: (value: Value) => string): string =>
  valuesOf(places)
    .map(([pattern, value]) => `    (${pattern}) ${set(value)} ;;`)
    .join("\n");

/** How long a shell remembers names, in seconds. */
const rememberSeconds = 30;

/** Global options that decide whose names are offered. Their values are passed on. */
const scopeOptions = ["--server", "--profile", "--team"];

/** A `case` of bash and zsh that adds an option of the scope in `word` to `scope`. */
const scopeCase = `case "$option$word" in
      (${scopeOptions.join("|")}) option="$word=" ;;
      (${scopeOptions.map((option) => `${option}=*`).join("|")}) scope+=("$option$word") option='' ;;
      (*) option='' ;;
    esac`;

/**
 * Offers file names only where the user knows the words, as after `--dir`. COMP_WORDS has words
 * with their quotes, and splits them at `=` and `:`.
 */
function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, commands, options, names }) =>
      `    (${quoted(path)}) commands=${wordsOf(commands)} options=${wordsOf(options)} names=${quoted(names ?? "")} ;;`,
  );
  const values = valueCases(
    places,
    ({ words = [], names = "" }) =>
      `commands=${quoted(words.join(" "))} options='' names=${quoted(names)}`,
  );
  return `_windlass_names() {
  local part word='' option='' scope=()
  for part in "\${COMP_WORDS[@]:1}" ''; do
    if [[ -n $word && ( $part == [=:]* || $word == *[=:] ) ]]; then
      word+=$part
      continue
    fi
    word=\${word//[\\"\\'\\\\]/}
    ${scopeCase}
    word=$part
  done
  if [[ "$2 \${scope[*]-}" != "\${_windlass_asked-}" || $((SECONDS - \${_windlass_at-0})) -ge ${rememberSeconds} ]]; then
    _windlass_known=$("$1" completion bash --names "$2" \${scope[@]+"\${scope[@]}"} 2>/dev/null </dev/null)
    _windlass_asked="$2 \${scope[*]-}" _windlass_at=$SECONDS
  fi
}
_windlass() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local place='' commands='' options='' names='' word
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' ]]; then
    before=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place $word" in
      ${named(places).join("|")}) place="$place $word" ;;
    esac
  done
  case "$place" in
${cases.join("\n")}
  esac
  case "$place $before" in
${values}
  esac
  COMPREPLY=()
  [[ -n $commands$names ]] && compopt +o default 2>/dev/null
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
  [[ -n $names ]] || return
  _windlass_names "\${COMP_WORDS[0]}" "$names"
  local known=$_windlass_known quote='' quoted
  case $current in
    (\\"*) quote=\\" known=$(sed ${inDoubleQuotes} <<< "$known") ;;
    (\\'*) quote=\\' known=$(sed ${inSingleQuotes} <<< "$known") ;;
  esac
  while IFS=$'\\t' read -r word _; do
    quoted=$word
    [[ -n $quote ]] || printf -v quoted %q "$word"
    [[ -n $word && ( $word == "\${current#"$quote"}"* || $quoted == "$current"* ) ]] && COMPREPLY+=("$quoted")
  done <<< "$known"
}
complete -o default -F _windlass windlass
`;
}

/** Names as they stand after an opening quote; bash adds the closing one. */
const inDoubleQuotes = "'s/[\"\\\\$`]/\\\\&/g'";
const inSingleQuotes = String.raw`"s/'/'\\\\''/g"`;

const described = (offers: readonly Offer[]): string =>
  offers.map(({ word, meaning }) => quoted(`${word}:${short(meaning)}`)).join(" ");

function zsh(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, commands, options, names }) =>
      `    (${quoted(path)}) offered=(${described(commands)}) options=(${described(options)}) names=${quoted(names ?? "")} ;;`,
  );
  const values = valueCases(
    places,
    ({ words = [], names = "" }) =>
      `offered=(${words.map(quoted).join(" ")}) options=() names=${quoted(names)}`,
  );
  return `_windlass_names() {
  local word option=''
  local -a scope
  for word in "\${(@Q)words[2,-1]}"; do
    ${scopeCase}
  done
  if [[ "$2 $scope" != "$_windlass_asked" ]] || (( SECONDS - _windlass_at >= ${rememberSeconds} )); then
    typeset -g _windlass_known="$("$1" completion zsh --names "$2" $scope 2>/dev/null </dev/null)"
    typeset -g _windlass_asked="$2 $scope" _windlass_at=$SECONDS
  fi
}
_windlass() {
  local place='' names='' word before=$words[CURRENT-1] current=$words[CURRENT] tab=$'\\t'
  local -a offered options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      (${named(places).join("|")}) place="$place $word" ;;
    esac
  done
  case "$place" in
${cases.join("\n")}
  esac
  if [[ $current == --*=* ]]; then
    before=\${current%%=*} current=''
    compset -P '*='
  fi
  case "$place $before" in
${values}
  esac
  [[ $current == -* ]] && offered=($options) names=''
  if [[ -z $names ]] && (( ! $#offered )); then
    _files
    return
  fi
  if [[ -n $names ]]; then
    _windlass_names "$words[1]" "$names"
    for word in "\${(@f)_windlass_known}"; do
      [[ -n $word ]] && offered+=("\${\${word%%$tab*}//:/\\\\:}:\${word#*$tab}")
    done
  fi
  _describe windlass offered
}
compdef _windlass windlass
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options, names }) => {
    const at = `complete -c windlass -n ${quoted(`__windlass_at "${path}"`)}`;
    return [
      ...commands.map(
        ({ word, meaning }) => `${at} -f -a ${quoted(word)} -d ${quoted(short(meaning))}`,
      ),
      ...options.map(
        ({ word, meaning, value }) =>
          `${at} -l ${word.slice(2)} ${fishValue(value)}-d ${quoted(short(meaning))}`,
      ),
      ...(names ? [`${at} -f -a '(__windlass_names ${names})'`] : []),
    ];
  });
  return `function __windlass_at
  set -l path ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$path $word" ${named(places).join(" ")}
      set path "$path $word"
    end
  end
  test "$path" = "$argv[1]"
end
function __windlass_names
  set -l now (date +%s)
  set -l words (commandline -op)
  set -l asked $argv[1]
  set -l option ''
  for word in $words[2..-1]
    set word $option(string unescape -- $word)
    set option ''
    if contains -- $word ${scopeOptions.join(" ")}
      set option $word=
    else if string match -qr -- '^(${scopeOptions.join("|")})=' $word
      set -a asked $word
    end
  end
  if test "$asked" != "$__windlass_asked"; or test (math "$now - $__windlass_time") -ge ${rememberSeconds}
    set -g __windlass_known ($words[1] completion fish --names $asked 2>/dev/null </dev/null)
    set -g __windlass_asked "$asked"
    set -g __windlass_time $now
  end
  printf '%s\\n' $__windlass_known
end
${lines.join("\n")}
`;
}

function fishValue(value: Value | undefined): string {
  if (!value) return "";
  if (value.names) return `-x -a '(__windlass_names ${value.names})' `;
  return value.words ? `-x -a ${quoted(value.words.join(" "))} ` : "-r ";
}
