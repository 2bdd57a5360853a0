/**
 * What every engine of the store must do. A second engine runs the same tests with its own `open`.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimAnyJob, claimOwnJob } from "../../../../control-plane/store/claims/claims.ts";
import type { Store } from "../../../../control-plane/store/db.ts";
import { findJob, saveJob } from "../../../../control-plane/store/jobs/jobs.ts";
import {
  appendChunk,
  findBySeq,
  findLastSeq,
  readChunks,
  sizeChunks,
} from "../../../../control-plane/store/logs/logs.ts";
import { findLostHolders, markOffline } from "../../../../control-plane/store/workers/silent.ts";
import { deleteWorker, updateWorker } from "../../../../control-plane/store/workers/workers.ts";
import { addJob, addOwner, addSpec, addWorker, type Owner } from "../../../helpers/plane/rows.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and removes its files. */
  remove(): Promise<void>;
}

export function storeContract(engine: string, open: () => Promise<OpenedStore>): void {
  describe(`the store on ${engine}`, () => {
    let opened: OpenedStore;
    let store: Store;
    let owner: Owner;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
      owner = await addOwner(store);
      const names = ["w", "w1", "w2", "other", "target"];
      for (let index = 0; index < 20; index += 1) names.push(`worker-${index}`);
      await Promise.all(names.map((id) => addWorker(store, owner, { id })));
    });
    afterEach(() => opened.remove());

    const read = async (id: string) => (await store.read.first(findJob, { id }))!;
    const claim = (worker: string, labels: string[] = [], of = owner) =>
      store.write(async (tx) => {
        await updateWorker(tx, worker, { labels: JSON.stringify(labels) });
        return tx.first(claimOwnJob, { worker, claim_key: null, now: 5, lifted: "", owner: of.id });
      });

    it("shows a write to readers only after it is committed", async () => {
      const job = await addJob(store, owner);
      const writing = store.write(async (tx) => {
        await saveJob(tx, { ...job, error_message: "written" });
        return (await store.read.first(findJob, { id: job.id }))?.error_message;
      });
      expect(await writing).toBeNull();
      expect(await store.read.first(findJob, { id: job.id })).toMatchObject({
        error_message: "written",
      });
    });

    it("rolls back a change that throws, and keeps the others of the same commit", async () => {
      const jobs = await Promise.all([1, 2, 3].map(() => addJob(store, owner)));
      const outcomes = await Promise.allSettled(
        jobs.map((job, index) =>
          store.write(async (tx) => {
            await saveJob(tx, { ...job, error_message: "changed" });
            if (index === 1) throw new Error("no");
          }),
        ),
      );
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      const saved = await Promise.all(jobs.map(({ id }) => store.read.first(findJob, { id })));
      expect(saved.map((job) => job?.error_message)).toEqual(["changed", null, "changed"]);
    });

    it("refuses writes once it is closed, after finishing those in progress", async () => {
      const job = await addJob(store, owner);
      const last = store.write((tx) => saveJob(tx, { ...job, error_message: "last" }));
      const closing = store.close();
      await expect(store.write(async () => undefined)).rejects.toThrow("closed");
      await last;
      await closing;
    });

    it("gives each of 100 jobs to one of 200 concurrent claims", async () => {
      const jobs = await Promise.all(Array.from({ length: 100 }, () => addJob(store, owner)));
      const claims = await Promise.all(
        Array.from({ length: 200 }, (_, index) => claim(`worker-${index % 20}`)),
      );
      const given = claims.flatMap((job) => job?.id ?? []);
      expect(given.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
    });

    it("claims the oldest job first and counts the attempt", async () => {
      const [first, second] = [await addJob(store, owner), await addJob(store, owner)];
      expect(await claim("w")).toMatchObject({
        id: first.id,
        attempt: 1,
        config_snapshot: '{"source":{"type":"inline","files":{"main.tf":""}}}',
      });
      expect(await read(first.id)).toMatchObject({
        status: "PROCESSING",
        worker_id: "w",
        claimed_at: 5,
      });
      expect((await claim("w"))?.id).toBe(second.id);
      expect(await claim("w")).toBeUndefined();
    });

    it("claims a configuration's next job only after the previous one is released", async () => {
      const spec_id = await addSpec(store, owner);
      const first = await addJob(store, owner, { spec_id });
      const second = await addJob(store, owner, { spec_id });
      expect((await claim("w"))?.id).toBe(first.id);
      const held = await read(first.id);
      expect(await claim("w")).toBeUndefined();
      await store.write((tx) => saveJob(tx, { ...held, status: "CANCELLED" }));
      expect(await claim("w")).toBeUndefined();
      await store.write((tx) => saveJob(tx, { ...held, status: "CANCELLED", released_at: 6 }));
      expect((await claim("w"))?.id).toBe(second.id);
    });

    it("cannot hold two jobs of one configuration, whatever a statement says", async () => {
      const spec_id = await addSpec(store, owner);
      await addJob(store, owner, { spec_id, worker_id: "a", status: "PROCESSING" });
      await expect(
        addJob(store, owner, { spec_id, worker_id: "b", status: "PROCESSING" }),
      ).rejects.toThrow(/unique/i);
    });

    it("claims no job of a configuration whose state is locked", async () => {
      const spec_id = await addSpec(store, owner);
      await addJob(store, owner, { spec_id });
      await store.write(async (tx) => {
        await tx.sql
          .insertInto("state_locks")
          .values({ spec_id, lock_id: "l", job_id: "j", info: "{}", created_at: 1 })
          .execute();
      });
      expect(await claim("w")).toBeUndefined();
    });

    it("matches owner, assignment and labels", async () => {
      const other = await addOwner(store);
      const assigned = await addJob(store, owner, { assigned_worker_id: "w1" });
      const labelled = await addJob(store, owner, { labels: '["gpu","eu"]' });
      expect(await claim("w1", [], other)).toBeUndefined();
      expect(await claim("w2", ["gpu"])).toBeUndefined();
      expect((await claim("w2", ["eu", "gpu", "x"]))?.id).toBe(labelled.id);
      expect(await claim("w2", ["eu", "gpu", "x"])).toBeUndefined();
      expect((await claim("w1"))?.id).toBe(assigned.id);
    });

    it("lets a cloud-hosted worker take the jobs of every owner", async () => {
      const other = await addOwner(store);
      const jobs = [await addJob(store, owner), await addJob(store, other)];
      await addWorker(store, null, { id: "cloud" });
      for (const { id } of jobs) {
        const params = { worker: "cloud", claim_key: null, now: 5, lifted: "" };
        expect((await store.write((tx) => tx.first(claimAnyJob, params)))?.id).toBe(id);
      }
    });

    it("gives nothing to a worker that was removed or drained in the same commit", async () => {
      await addJob(store, owner);
      const [, removed] = await Promise.all([
        store.write((tx) => deleteWorker(tx, "w1")),
        claim("w1"),
      ]);
      const [, drained] = await Promise.all([
        store.write((tx) => updateWorker(tx, "w2", { draining_at: 1 })),
        claim("w2"),
      ]);
      expect([removed, drained]).toEqual([undefined, undefined]);
      expect(await claim("w")).toBeDefined();
    });

    it("gives a DESTROY_WORKER job to another worker once its target holds no job", async () => {
      const held = await addJob(store, owner, { worker_id: "target", status: "PROCESSING" });
      const teardown = await addJob(store, owner, {
        job_type: "DESTROY_WORKER",
        assigned_worker_id: "target",
      });
      expect(await claim("other")).toBeUndefined();
      await store.write((tx) => saveJob(tx, { ...held, status: "SUCCESS", released_at: 6 }));
      expect(await claim("target")).toBeUndefined();
      expect((await claim("other"))?.id).toBe(teardown.id);
    });

    it("keeps every byte of a log chunk and the order of the chunks", async () => {
      const job = (await addJob(store, owner)).id;
      const texts = [
        "a\u0000b",
        "\u001b[31mred\u001b[0m\r\n",
        "🚀 ä \ufffd",
        "",
        "x".repeat(300_000),
      ];
      for (const [index, log_chunk] of texts.entries())
        await store.write((tx) =>
          tx.first(appendChunk, {
            job,
            seq: index + 1,
            stream_type: "STDOUT",
            log_chunk,
            step: null,
            resource: null,
            now: 1,
          }),
        );
      const sizes = await store.read.all(sizeChunks, { job, after: 0, limit: 100 });
      expect(sizes.map(({ bytes }) => bytes)).toEqual(texts.map((text) => Buffer.byteLength(text)));
      const last = sizes.at(-1)!.id;
      const rows = await store.read.all(readChunks, { job, after: 0, last });
      expect(rows.map((row) => row.log_chunk)).toEqual(texts);
      expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).toSorted((a, b) => a - b));
      const tail = await store.read.all(readChunks, { job, after: rows[1]!.id, last: rows[3]!.id });
      expect(tail.map((row) => row.log_chunk)).toEqual(texts.slice(2, 4));
      expect(await store.read.first(findLastSeq, { job })).toEqual({ id: rows[4]!.id, seq: 5 });
      expect(await store.read.first(findBySeq, { job, seq: 2 })).toEqual({ id: rows[1]!.id });
    });

    it("finds silent workers, and those whose jobs are lost", async () => {
      const silent = await addWorker(store, owner, { last_heartbeat_at: 100 });
      await addWorker(store, owner, { last_heartbeat_at: 200 });
      const never = await addWorker(store, owner, { created_at: 100 });
      // The workers of the other tests have always been silent.
      await store.write((tx) => tx.all(markOffline, { before: 50, now: 60 }));
      const marked = await store.write((tx) => tx.all(markOffline, { before: 150, now: 300 }));
      expect(marked.map(({ id }) => id).toSorted()).toEqual([silent.id, never.id].toSorted());
      await addJob(store, owner, { worker_id: silent.id, status: "PROCESSING" });
      const lost = (before: number) => store.read.all(findLostHolders, { before });
      expect(await lost(299)).toEqual([]);
      expect(await lost(300)).toEqual([{ id: silent.id }]);
    });
  });
}
