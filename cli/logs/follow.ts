/** Follows a job's log, over broken connections, without losing or repeating lines. */
import { setTimeout as sleep } from "node:timers/promises";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { JobProgress, LogChunk } from "../../protocol/jobs.ts";
import type { Api } from "../api/api.ts";
import { backoff } from "../../common/backoff.ts";
import { isTransient, toCliError } from "../api/failures.ts";
import { CliError } from "../terminal/output.ts";
import { minute } from "../../common/units.ts";

export interface Follower {
  onChunk(chunk: LogChunk): void;
  onProgress(progress: JobProgress): void;
  /** Called with the reason when the connection breaks, and with undefined after a reconnect. */
  onTrouble(why: string | undefined): void;
  readonly signal: AbortSignal;
}

/** The server sends a comment every 15 s. A connection that is silent for 40 s is dead. */
const silence = 40_000;
/** The pauses between two connections, in milliseconds. */
const pauses = { first: 250, most: 5000 };
/** How long to wait for a server that cannot be reached. */
const reconnectTimeout = 15 * minute;

/** Until the job is released. Throws `CliError` if the server refuses, or is away too long. */
export async function followJob(
  { send, server }: Pick<Api, "send" | "server">,
  id: string,
  follower: Follower,
): Promise<JobProgress> {
  const { signal } = follower;
  let last = 0;
  let lastContact = performance.now();
  for (let failures = 0; ; failures++) {
    try {
      const response = await send(
        "streamJobLogs",
        { params: { id } },
        { headers: { "last-event-id": String(last) }, silence, signal },
      );
      let end: JobProgress | undefined;
      const parser = createParser({
        onEvent: ({ event, data }: EventSourceMessage) => {
          if (event === "end") end = JSON.parse(data) as JobProgress;
          else if (event === "status") follower.onProgress(JSON.parse(data) as JobProgress);
          else if (event === "log") {
            const chunk = JSON.parse(data) as LogChunk;
            if (chunk.id <= last) return;
            last = chunk.id;
            follower.onChunk(chunk);
          }
        },
      });
      const decoder = new TextDecoder();
      for await (const bytes of response.body as AsyncIterable<Buffer>) {
        if (failures > 0) follower.onTrouble(undefined);
        failures = 0;
        lastContact = performance.now();
        parser.feed(decoder.decode(bytes, { stream: true }));
        if (end) return end;
      }
      // The server is draining. The next connection continues where this one stopped.
    } catch (error) {
      signal.throwIfAborted();
      const { message } = toCliError(error, server) as Error;
      if (!isTransient(error)) throw error;
      if (performance.now() - lastContact > reconnectTimeout)
        throw new CliError(
          `The server has been unreachable for ${reconnectTimeout / minute} minutes (${message})`,
          1,
          error,
        );
      follower.onTrouble(message);
    }
    await sleep(backoff(failures + 1, Math.random(), 0, pauses), null, { signal });
  }
}
