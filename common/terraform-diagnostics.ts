/** Reads the errors and warnings of terraform's human-readable output, for people to see first. */
import { withoutControlSequences } from "./control-sequences.ts";

export interface TerraformDiagnostic {
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

/** Where the agent gives values to terraform, which is no place that a user knows. */
export const variablesFile = "job.tfvars.json";

/** How many are read of one output: a mistake in a module that is used often comes as often. */
const diagnosticLimit = 50;
/** An error of `init` that only says that others follow. */
const announcement = /^\S+ encountered problems during initiali[sz]ation, including problems/;

/** A second error in a frame is the cause, quoted by the first. */
export const terraformErrorsIn = (text: string): TerraformDiagnostic[] =>
  diagnosticsIn(text, /^Error: (.*)/);

/** Returns the warnings in the frames of an output. */
export const terraformWarningsIn = (text: string): TerraformDiagnostic[] =>
  diagnosticsIn(text, /^Warning: (.*)/);

function diagnosticsIn(text: string, head: RegExp): TerraformDiagnostic[] {
  const found: TerraformDiagnostic[] = [];
  let frame: string[] | undefined;
  for (const line of withoutControlSequences(text).split("\n")) {
    if (line.startsWith("╷")) frame = [];
    else if (line.startsWith("╵")) {
      const one = frame && diagnosticOf(frame, head);
      if (one && !announcement.test(one.summary)) found.push(one);
      frame = undefined;
      if (found.length === diagnosticLimit) break;
    } else frame?.push(line.replace(/^│ ?/u, "").trimEnd());
  }
  return found;
}

/** Undefined if the frame begins in another way. */
function diagnosticOf(lines: readonly string[], head: RegExp): TerraformDiagnostic | undefined {
  // A long summary is wrapped; it ends at the first empty line.
  const end = lines.findIndex((line) => line.trim() === "");
  const [, summary] = head.exec(lines.slice(0, Math.max(1, end)).join(" ")) ?? [];
  if (summary === undefined) return undefined;
  const rest = lines.slice(Math.max(1, end));
  const places = rest.flatMap((line) => {
    const [, file, number] = /^\s+on (.+?) line (\d{1,9})\b/.exec(line) ?? [];
    return file === undefined ? [] : [{ file, line: Number(number) }];
  });
  const isOfAgent = places[0]?.file.endsWith(`/${variablesFile}`) === true;
  const place = isOfAgent ? undefined : places[0];
  const addresses = rest.flatMap((line) => /^\s+with (\S.*),$/.exec(line)?.[1] ?? []);
  const detail = rest.filter((line) => !isPlace(line) && !isCode(line));
  return {
    summary: summary.replace(/[.:]$/, ""),
    detail: detail
      .join("\n")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim(),
    address: addresses[0] ?? null,
    file: place?.file ?? null,
    line: place?.line ?? null,
    code: rest
      .filter((line) => !isOfAgent && isCode(line))
      .map((line) => line.replace(/^ {2}/, ""))
      .join("\n"),
  };
}

/** The address and the location. */
const isPlace = (line: string): boolean => /^\s+on .+? line \d+\b|^\s+with \S.*,$/.test(line);

/** A quoted line of code, or what terraform says of its values. */
const isCode = (line: string): boolean => /^\s+(?:\d+:|[├│])/u.test(line);
