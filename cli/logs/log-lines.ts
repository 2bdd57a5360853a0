/** Chunks of a log as whole lines: a chunk ends anywhere, also within a line or a colour. */
import type { LogChunk, StreamType } from "../../protocol/jobs.ts";
import { logLine, styled } from "../terminal/output.ts";

export interface LogLines {
  add(chunk: Pick<LogChunk, "log_chunk" | "stream_type">): void;
  /** Shows what no newline has ended. */
  flush(): void;
}

/** Shows each line as the terminal may safely have it; the runner's own lines stand apart. */
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
