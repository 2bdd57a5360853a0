/** A job's log as it grows, over connections that may break: no line is lost and none comes twice. */
import { setTimeout as sleep } from "node:timers/promises";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { JobProgress, LogChunk } from "../../protocol/jobs.ts";
import type { Api } from "../api/api.ts";
import { backoff } from "../../common/backoff.ts";
import { mayPass } from "../api/failures.ts";
import { Failure } from "../terminal/output.ts";
import { minute } from "../../common/units.ts";

export interface Follower {
  onChunk(chunk: LogChunk): void;
  onProgress(progress: JobProgress): void;
  /** The connection broke; `undefined` when there is one again. */
  onTrouble(why: string | undefined): void;
  readonly signal: AbortSignal;
}

/** The server sends a comment every 15 s; a connection that is silent for longer is dead. */
const silence = 40_000;
/** Between two connections. */
const pauses = { first: 250, most: 5000 };
/** A server that is away for longer is not waited for. */
const patience = 15 * minute;

/** Follows the log to the end of a released job. Throws `Failure` when the server refuses, or stays away. */
export async function followJob(
  { send }: Pick<Api, "send">,
  id: string,
  follower: Follower,
): Promise<JobProgress> {
  const { signal } = follower;
  let last = 0;
  let lastContact = Date.now();
  for (let failures = 0; ; failures++) {
    try {
      const answer = await send(
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
      for await (const bytes of answer.body as AsyncIterable<Buffer>) {
        if (failures > 0) follower.onTrouble(undefined);
        failures = 0;
        lastContact = Date.now();
        parser.feed(decoder.decode(bytes, { stream: true }));
        if (end) return end;
      }
      // The server drains: the next one goes on where this one stopped.
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error)) throw error;
      if (Date.now() - lastContact > patience)
        throw new Failure(
          `the server has been away for ${patience / minute} minutes (${(error as Error).message})`,
          1,
          error,
        );
      follower.onTrouble((error as Error).message);
    }
    await sleep(backoff(failures + 1, Math.random(), 0, pauses), null, { signal });
  }
}
