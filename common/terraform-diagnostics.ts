/** Reads the errors of terraform's human-readable output, for people to see first. */
import { withoutControlSequences } from "./control-sequences.ts";

export interface TerraformError {
  readonly summary: string;
  readonly detail: string;
  /** The resource that it is about, if terraform names one. */
  readonly address: string | null;
  /** Where the configuration has the error, as terraform says it. */
  readonly file: string | null;
  readonly line: number | null;
  /** The quoted lines of code. */
  readonly code: string;
}

/** How many errors are read: a mistake in a module that is used often comes as often. */
const errorLimit = 50;
/** An error of `init` that only says that others follow. */
const announcement = /^\S+ encountered problems during initiali[sz]ation, including problems/;

/**
 * Returns the errors in the frames of an output. A second error in a frame is the cause, quoted by
 * the first.
 */
export function terraformErrorsIn(text: string): TerraformError[] {
  const errors: TerraformError[] = [];
  let frame: string[] | undefined;
  for (const line of withoutControlSequences(text).split("\n")) {
    if (line.startsWith("╷")) frame = [];
    else if (line.startsWith("╵")) {
      const error = frame && errorOf(frame);
      if (error && !announcement.test(error.summary)) errors.push(error);
      frame = undefined;
      if (errors.length === errorLimit) break;
    } else frame?.push(line.replace(/^│ ?/u, "").trimEnd());
  }
  return errors;
}

/** Undefined for a warning. */
function errorOf(lines: readonly string[]): TerraformError | undefined {
  // A long summary is wrapped; it ends at the first empty line.
  const end = lines.findIndex((line) => line.trim() === "");
  const [, summary] = /^Error: (.*)/.exec(lines.slice(0, Math.max(1, end)).join(" ")) ?? [];
  if (summary === undefined) return undefined;
  const rest = lines.slice(Math.max(1, end));
  const places = rest.flatMap((line) => {
    const [, file, number] = /^\s+on (.+?) line (\d{1,9})\b/.exec(line) ?? [];
    return file === undefined ? [] : [{ file, line: Number(number) }];
  });
  const addresses = rest.flatMap((line) => /^\s+with (\S.*),$/.exec(line)?.[1] ?? []);
  const detail = rest.filter((line) => !isPlace(line) && !isCode(line));
  return {
    summary: summary.replace(/[.:]$/, ""),
    detail: detail
      .join("\n")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim(),
    address: addresses[0] ?? null,
    file: places[0]?.file ?? null,
    line: places[0]?.line ?? null,
    code: rest
      .filter(isCode)
      .map((line) => line.replace(/^ {2}/, ""))
      .join("\n"),
  };
}

/** The address and the location. */
const isPlace = (line: string): boolean => /^\s+on .+? line \d+\b|^\s+with \S.*,$/.test(line);

/** A quoted line of code, or what terraform says of its values. */
const isCode = (line: string): boolean => /^\s+(?:\d+:|[├│])/u.test(line);
