/** Asks for jobs, one at a time, while a slot is free and the agent is not stopping. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { ClaimedJob } from "../protocol/executions.ts";
import { waitSecondsLimit } from "../protocol/limits.ts";
import { ProblemError, ResponseTooLargeError } from "../protocol/transport.ts";
import type { AgentApi } from "./api/api.ts";
import { backoff, pollDelay } from "../common/backoff.ts";
import type { ClaimKey } from "./claim-key.ts";
import type { Contact } from "./api/contact.ts";
import { isId } from "./job/claim-fault.ts";
import type { Slots } from "./slots.ts";

export interface ClaimLoopOptions {
  readonly api: AgentApi;
  readonly slots: Slots;
  readonly key: ClaimKey;
  readonly log: Logger;
  readonly contact: Contact;
  /** Ends the loop: no new work. */
  readonly noMoreWork: AbortSignal;
  /** Mean milliseconds between claims at a server that does not keep a request open. */
  readonly pollEvery: number;
  /** Ends after the first job. */
  readonly once: boolean;
  /** Writes the job to disk and starts it; its end frees the slot. False if it runs already. */
  start(claim: ClaimedJob): Promise<boolean>;
  /** Resolves when there is enough disk space for one more job. */
  room(signal: AbortSignal): Promise<void>;
}

/** Claims jobs until the signal; with `once`, until the first job. */
export async function claimLoop(loop: ClaimLoopOptions): Promise<void> {
  const { api, slots, key, log, contact, noMoreWork } = loop;
  let refusals = 0;
  let isKeyUsed = false;
  while (!noMoreWork.aborted) {
    contact.pause("claim");
    try {
      await slots.take(noMoreWork);
    } catch {
      // Only the signal ends this wait.
      return;
    }
    let started = false;
    try {
      await loop.room(noMoreWork);
      contact.resume("claim");
      if (isKeyUsed) key.renew();
      isKeyUsed = false;
      const asked = performance.now();
      const claim = await api.claim(waitSecondsLimit, key.current(), noMoreWork);
      contact.heard("claim");
      refusals = 0;
      const job = claim?.job as { id?: unknown } | null | undefined;
      if (claim && isId(job?.id)) started = await loop.start(claim);
      else if (claim) log.error({ job: job?.id }, "a claimed job has no valid id and is ignored");
      // From here on the job is in its journal, so the next claim is a new one.
      if (claim) key.renew();
      else if (performance.now() - asked < 1000) {
        await sleep(pollDelay(loop.pollEvery, Math.random()), undefined, { signal: noMoreWork });
      }
      if (started && loop.once) return;
    } catch (error) {
      if (noMoreWork.aborted) return;
      refusals++;
      // Another key gets another job; the server takes this one back.
      isKeyUsed ||=
        error instanceof ResponseTooLargeError ||
        (error instanceof ProblemError && error.code === "idempotency_key_reused");
      log.error({ error: (error as Error).message }, "the claim was refused");
      await sleep(backoff(refusals, Math.random()), undefined, { signal: noMoreWork }).catch(
        () => undefined,
      );
    } finally {
      if (!started) slots.give();
    }
  }
}
