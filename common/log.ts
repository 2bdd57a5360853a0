/** The log of a server and of an agent: JSON lines on stderr, or pretty on a terminal. */
import { styleText } from "node:util";
import { pino, type LevelWithSilent, type Logger } from "pino";
import { kibibyte, mebibyte } from "./units.ts";
import { version } from "./version.ts";

export interface LogSettings {
  readonly logLevel: LevelWithSilent;
  readonly logFormat: "pretty" | "json";
}

/** So much may wait while the log cannot be written; more is dropped. */
const waitingBytes = mebibyte;
/** So many characters of one turn are written at once: pino drops a text longer than may wait. */
const togetherCharacters = 64 * kibibyte;

/** Logs that a program is ready: on a terminal as these lines, for a person. */
export function logReady(
  log: Pick<Logger, "info" | "isLevelEnabled">,
  { logFormat }: Pick<LogSettings, "logFormat">,
  { fields, message, more }: { fields: object; message: string; more: readonly string[] },
): void {
  if (logFormat === "json" || !process.stderr.isTTY) return log.info(fields, message);
  if (!log.isLevelEnabled("info")) return;
  const bold = styleText("bold", `Windlass ${version()}: ${message}`, { stream: process.stderr });
  // After the lines of this turn.
  setImmediate(() => process.stderr.write(`${[bold, ...more].join("\n  ")}\n`));
}

/**
 * Writes the lines of one turn of the event loop together, for a busy server; synchronously, so
 * that the last line before an exit is there.
 */
export async function openLog({ logLevel, logFormat }: LogSettings): Promise<Logger> {
  const options = { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: waitingBytes });
  // A full disk or a closed reader must not end the process: the lines wait.
  stderr.on("error", () => undefined);
  let lines = "";
  const writeLines = () => {
    const text = lines;
    lines = "";
    if (text !== "") stderr.write(text);
  };
  process.on("exit", writeLines);
  const write = (line: string) => {
    if (lines === "") setImmediate(writeLines);
    lines += line;
    if (lines.length >= togetherCharacters) writeLines();
  };
  if (logFormat === "json") return pino(options, { write });
  // Not as pino's transport: that is a thread, which holds up the exit for 10 s once the reader is
  // gone.
  const { prettyFactory } = await import("pino-pretty");
  const pretty = prettyFactory({ translateTime: "yyyy-mm-dd HH:MM:ss.l o" });
  return pino(options, { write: (line: string) => write(pretty(line)) });
}
