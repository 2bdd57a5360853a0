import { expect, test } from "vitest";
import { openJobText, type OpenJob } from "../../../control-plane/domain/open-job.ts";

const job: OpenJob = { id: "1", job_type: "DEPLOY", status: "QUEUED", configuration: "network" };

test.each<[OpenJob, string]>([
  [job, 'the DEPLOY of "network" (job 1) has not ended: wait for it or cancel it first'],
  [
    { ...job, status: "PROCESSING", job_type: "DESTROY_WORKER", configuration: null },
    "a DESTROY_WORKER (job 1) has not ended: wait for it or cancel it first",
  ],
  [
    { ...job, status: "CANCELLED" },
    'the DEPLOY of "network" (job 1) has ended, but its runner has not released it yet: wait for that first',
  ],
])("%j stands in the way, in words", (open, text) => expect(openJobText(open)).toBe(text));
