import { expect, it } from "vitest";
import type { JobRow } from "../../../control-plane/domain/job.ts";
import {
  aheadCounted,
  behindReason,
  waitingOf,
  type Surroundings,
} from "../../../control-plane/domain/waiting-reason.ts";

const job = {
  status: "QUEUED",
  owner_id: "o",
  job_type: "PLAN",
  spec_id: "s",
  assigned_worker_id: null,
  labels: '["gpu"]',
  features: "[]",
} as JobRow;
const worker = {
  id: "w",
  name: "eu-1",
  owner_id: "o",
  labels: ["gpu", "eu"],
  features: ["submodules"],
  offline_at: null,
  draining_at: null,
  last_heartbeat_at: 1,
};
const around = (change: Partial<Surroundings>): Surroundings => ({
  busyJob: null,
  isLocked: false,
  unsavedJob: null,
  isTargetHeld: false,
  workers: [worker],
  ...change,
});
const teardown = { ...job, job_type: "DESTROY_WORKER", assigned_worker_id: "t" } as JobRow;

it.each<[what: string, job: JobRow, around: Surroundings, reason: string | null]>([
  ["a running job has no waiting reason", { ...job, status: "PROCESSING" }, around({}), null],
  ["an able worker is online", job, around({}), "waiting_for_worker"],
  ["its configuration is busy", job, around({ busyJob: "j" }), "configuration_busy"],
  ["its state is locked", job, around({ isLocked: true }), "state_locked"],
  ["there is no worker", job, around({ workers: [] }), "no_matching_worker"],
  [
    "no worker has its labels",
    job,
    around({ workers: [{ ...worker, labels: [] }] }),
    "no_matching_worker",
  ],
  [
    "only another owner's worker is online",
    job,
    around({ workers: [{ ...worker, owner_id: "x" }] }),
    "no_matching_worker",
  ],
  [
    "an able cloud-hosted worker is online",
    job,
    around({ workers: [{ ...worker, owner_id: null }] }),
    "waiting_for_worker",
  ],
  [
    "all able workers are offline",
    job,
    around({ workers: [{ ...worker, offline_at: 1 }] }),
    "no_worker_online",
  ],
  [
    "no runner of an able worker has started",
    job,
    around({ workers: [{ ...worker, last_heartbeat_at: null }] }),
    "no_worker_online",
  ],
  [
    "one able worker is online and the runner of another has not started",
    job,
    around({ workers: [{ ...worker, last_heartbeat_at: null }, worker] }),
    "waiting_for_worker",
  ],
  [
    "all able workers drain",
    job,
    around({ workers: [{ ...worker, draining_at: 1 }] }),
    "workers_draining",
  ],
  [
    "one able worker drains and the other is offline",
    job,
    around({
      workers: [
        { ...worker, offline_at: 1 },
        { ...worker, draining_at: 1 },
      ],
    }),
    "workers_draining",
  ],
  [
    "a draining worker is offline",
    job,
    around({ workers: [{ ...worker, offline_at: 1, draining_at: 1 }] }),
    "no_worker_online",
  ],
  [
    "the assigned worker is offline",
    { ...job, assigned_worker_id: "w" },
    around({ workers: [{ ...worker, offline_at: 1 }] }),
    "assigned_worker_offline",
  ],
  [
    "the assigned worker drains",
    { ...job, assigned_worker_id: "w" },
    around({ workers: [{ ...worker, draining_at: 1 }] }),
    "assigned_worker_draining",
  ],
  [
    "no agent supports the job's features",
    { ...job, features: '["submodules","var_files"]' },
    around({}),
    "needs_var_files",
  ],
  [
    "no runner of a worker has started, so its features are not known",
    { ...job, features: '["debug"]' },
    around({ workers: [{ ...worker, features: [], last_heartbeat_at: null }] }),
    "no_worker_online",
  ],
  [
    "the runner of one worker has not started, and that of another lacks the feature",
    { ...job, features: '["debug"]' },
    around({ workers: [{ ...worker, features: [], last_heartbeat_at: null }, worker] }),
    "needs_debug",
  ],
  [
    "the assigned worker does not support the job's feature",
    { ...job, assigned_worker_id: "w", features: '["backend_config"]' },
    around({}),
    "needs_backend_config",
  ],
  [
    "the only agent that supports the feature is offline",
    { ...job, features: '["submodules"]' },
    around({
      workers: [
        { ...worker, features: [] },
        { ...worker, offline_at: 1 },
      ],
    }),
    "no_worker_online",
  ],
  [
    "a worker has a label with the name of the feature",
    { ...job, features: '["submodules"]' },
    around({ workers: [{ ...worker, labels: ["gpu", "submodules"], features: [] }] }),
    "needs_submodules",
  ],
  ["the worker to tear down is in use", teardown, around({ isTargetHeld: true }), "worker_in_use"],
  [
    "only the worker to tear down is online",
    teardown,
    around({ workers: [{ ...worker, id: "t" }] }),
    "no_matching_worker",
  ],
])("%s", (_, job, surroundings, reason) => {
  expect(waitingOf(job, surroundings)?.reason ?? null).toBe(reason);
});

const other = { ...worker, id: "v", name: "eu-2" };

it.each<[what: string, job: JobRow, around: Surroundings, names: string[], labels: string[]]>([
  [
    "the draining worker, not the one that is offline",
    job,
    around({
      workers: [
        { ...worker, draining_at: 1 },
        { ...other, offline_at: 1 },
      ],
    }),
    ["eu-1"],
    [],
  ],
  [
    "the workers that are offline",
    job,
    around({
      workers: [
        { ...worker, offline_at: 1 },
        { ...other, last_heartbeat_at: null },
      ],
    }),
    ["eu-1", "eu-2"],
    [],
  ],
  [
    "the worker to tear down, if only it has the labels",
    teardown,
    around({
      workers: [
        { ...worker, id: "t" },
        { ...other, labels: [] },
      ],
    }),
    ["eu-1"],
    ["gpu"],
  ],
  [
    "only workers with the labels of the job",
    job,
    around({
      workers: [
        { ...worker, labels: [] },
        { ...other, offline_at: 1 },
      ],
    }),
    ["eu-2"],
    [],
  ],
  [
    "the assigned worker",
    { ...job, assigned_worker_id: "v" },
    around({ workers: [worker, { ...other, offline_at: 1 }] }),
    ["eu-2"],
    [],
  ],
  [
    "the worker to tear down that holds a job",
    teardown,
    around({ isTargetHeld: true, workers: [worker, { ...other, id: "t" }] }),
    ["eu-2"],
    [],
  ],
  ["the workers without the feature", { ...job, features: '["debug"]' }, around({}), ["eu-1"], []],
  [
    "the label that no worker has",
    { ...job, labels: '["gpu","us"]' },
    around({ workers: [worker, other] }),
    [],
    ["us"],
  ],
  [
    "all labels if there is a worker for each",
    { ...job, labels: '["gpu","us"]' },
    around({ workers: [worker, { ...other, labels: ["us"] }] }),
    [],
    ["gpu", "us"],
  ],
])("names %s", (_, job, surroundings, names, labels) => {
  const { details } = waitingOf(job, surroundings) ?? {};
  expect(details?.workers.map(({ name }) => name)).toEqual(names);
  expect(details?.labels).toEqual(labels);
});

it("names three workers, and says that there are more", () => {
  const workers = Array.from({ length: 4 }, (_, at) => ({ ...worker, id: `${at}`, offline_at: 1 }));
  const { details } = waitingOf(job, around({ workers })) ?? {};
  expect(details).toMatchObject({ workers: [{}, {}, {}], more_workers: true });
});

it("names the job that occupies the configuration", () => {
  expect(waitingOf(job, around({ busyJob: "j" }))?.details?.job_id).toBe("j");
});

it.each([
  [[], null],
  [
    [
      [0, 0],
      [1, 0],
    ],
    null,
  ],
  [[[0, 3]], "waits behind 3 jobs that people queued; at 14:05 UTC it is served like them"],
  [
    [
      [0, 1],
      [1, 0],
    ],
    "waits behind 1 job that people queued; at 14:05 UTC it is served like them",
  ],
  [
    [
      [0, 0],
      [1, 2],
    ],
    "waits behind 2 jobs that connections queued; at 14:05 UTC it goes before them",
  ],
  [
    [
      [0, aheadCounted],
      [1, 1],
    ],
    "waits behind at least 100 jobs that people queued and 1 job that connections queued; at 14:05 UTC it is served like those of people",
  ],
] as const)("says what goes first: %j", (counts, sentence) => {
  const ahead = counts.map(([queue_class, count]) => ({ queue_class, count }));
  expect(behindReason(ahead, Date.parse("2026-11-27T14:05:59.000Z"))).toBe(sentence);
});
