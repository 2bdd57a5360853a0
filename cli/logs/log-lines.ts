/** Joins the chunks of a log to lines. A chunk may end within a line or an escape sequence. */
import type { LogChunk, StreamType } from "../../protocol/jobs.ts";
import { logLine, styled } from "../terminal/output.ts";

export interface LogLines {
  add(chunk: Pick<LogChunk, "log_chunk" | "stream_type">): void;
  /** Shows the last line if it has no newline. */
  flush(): void;
}

/** Passes each line to `show`, safe for a terminal. System lines get a bullet. */
export function logLines(show: (line: string) => void): LogLines {
  const unfinished = new Map<StreamType, string>();
  const shown = (stream: StreamType, line: string): void =>
    show(stream === "SYSTEM" ? styled("dim", `• ${logLine(line, false)}`) : logLine(line));
  return {
    add: ({ log_chunk, stream_type }) => {
      const lines = ((unfinished.get(stream_type) ?? "") + log_chunk).split("\n");
      unfinished.set(stream_type, lines.pop() ?? "");
      for (const line of lines) shown(stream_type, line);
    },
    flush: () => {
      for (const [stream, line] of unfinished) if (line !== "") shown(stream, line);
      unfinished.clear();
    },
  };
}
