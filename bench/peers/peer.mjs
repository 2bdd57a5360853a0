/**
 * One other queue in a process of its own: `peer.mjs NAME ADDRESS`. It does what the messages of its
 * parent say and replies to each. Its client and its worker share the process, which has no HTTP and
 * no credentials.
 */
import { on } from "node:events";
import { Queue, Worker } from "bullmq";
import { Logger, run } from "graphile-worker";
import pg from "pg";
import { PgBoss } from "pg-boss";

const name = "bench";
const [peer, address] = process.argv.slice(2);

/** The functions of a peer: `drain` times queued jobs, and `wake` times one job after another. */
const peers = {
  async "graphile-worker"() {
    const pool = new pg.Pool({ connectionString: address, max: 40 }).on("error", fail);
    const start = (concurrency, task) =>
      run({
        pgPool: pool,
        concurrency,
        noHandleSignals: true,
        taskList: { [name]: task },
        logger: new Logger(() => () => undefined),
      });
    await (await start(1, () => undefined)).stop();
    return {
      async drain(jobs, lanes) {
        await pool.query(
          `select count(graphile_worker.add_job('${name}')) from generate_series(1, ${jobs})`,
        );
        const ended = counter(jobs);
        const begun = performance.now();
        const runner = await start(lanes, ended.one);
        await ended.all;
        // The last jobs end after their tasks.
        await runner.stop();
        return performance.now() - begun;
      },
      close: () => pool.end(),
    };
  },

  async "pg-boss"() {
    const boss = new PgBoss({ connectionString: address, max: 40 });
    boss.on("error", fail);
    await boss.start();
    await boss.createQueue(name);
    return {
      async drain(jobs, lanes) {
        for (let left = jobs; left > 0; left -= 1000)
          await boss.insert(
            name,
            Array.from({ length: Math.min(left, 1000) }, () => ({})),
          );
        let left = jobs;
        const begun = performance.now();
        await Promise.all(
          Array.from({ length: lanes }, async () => {
            while (left-- > 0) {
              const [job] = await boss.fetch(name);
              if (!job) throw new Error("pg-boss had no job");
              await boss.complete(name, job.id);
            }
          }),
        );
        return performance.now() - begun;
      },
      async wake(jobs, parked) {
        const took = taken();
        for (let at = 0; at < parked; at += 1) await boss.work(name, took.one);
        return took.times(jobs, () => boss.send(name, {}));
      },
      close: () => boss.stop({ graceful: false }),
    };
  },

  async BullMQ() {
    // BullMQ wants this of the connections of its workers.
    const connection = { path: address, maxRetriesPerRequest: null };
    const queue = new Queue(name, { connection });
    await queue.waitUntilReady();
    return {
      async drain(jobs, lanes) {
        for (let left = jobs; left > 0; left -= 1000)
          await queue.addBulk(
            Array.from({ length: Math.min(left, 1000) }, () => ({ name, data: {} })),
          );
        const ended = counter(jobs);
        const begun = performance.now();
        const worker = new Worker(name, async () => undefined, { connection, concurrency: lanes });
        worker.on("completed", ended.one).on("error", fail);
        await ended.all;
        const took = performance.now() - begun;
        await worker.close();
        await queue.obliterate({ force: true });
        return took;
      },
      async wake(jobs, parked) {
        const took = taken();
        const workers = [];
        for (let at = 0; at < parked; at += 1) {
          const worker = new Worker(name, took.one, { connection }).on("error", fail);
          await worker.waitUntilReady();
          workers.push(worker);
        }
        return took.times(jobs, () => queue.add(name, {}));
      },
      close: () => queue.close(),
    };
  },
};

function fail(error) {
  console.error(error);
  process.exit(1);
}

function counter(goal) {
  let count = 0;
  let finish;
  const all = new Promise((resolve) => (finish = resolve));
  const one = () => {
    if ((count += 1) === goal) finish();
  };
  return { all, one };
}

/** Times from the call that queues a job until a worker has it. */
function taken() {
  let got;
  return {
    one: async () => got(),
    async times(jobs, add) {
      const times = [];
      // The first ones warm up.
      for (let job = -20; job < jobs; job += 1) {
        const isTaken = new Promise((resolve) => (got = resolve));
        const begun = performance.now();
        const added = add();
        await isTaken;
        if (job >= 0) times.push(performance.now() - begun);
        await added;
        // Its worker waits again.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return times;
    },
  };
}

const client = await peers[peer]();
const messages = on(process, "message");
process.send("ready");
for await (const [{ call, args }] of messages) {
  if (call === "close") break;
  process.send(await client[call](...args));
}
await client.close();
process.exit(0);
