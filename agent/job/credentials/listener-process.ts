/**
 * The listener: a process of its own that holds the ports from which terraform reads its
 * credentials. A port that closes while a command runs could be taken by another job, which would
 * get the command's password and could give it credentials of its own. So this process outlives the
 * agent, as terraform does, and a port stays open until its agent has released it and no command of
 * its job runs. While the agent is away, the last credentials are served until they expire.
 *
 * It gets nothing from the agent but what comes over the socket in its working directory.
 */
import { randomInt } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { writeWhole } from "../../machine/files.ts";
import { identityOf } from "../../machine/process-identity.ts";
import { isAnyRunning } from "../terraform/process.ts";
import { serveCredentials } from "./listener-http.ts";
import {
  hear,
  identityName,
  socketName,
  tell,
  type Handout,
  type Order,
} from "./listener-messages.ts";
import { endsIn, leftOf, type Ends } from "./validity.ts";

/** Below the ports of outgoing connections on Linux, which would take one that is opened again. */
const ports = { from: 20_000, to: 32_000 };
const portTries = 100;
/** How long a request waits for credentials that the agent renews, in milliseconds. */
const renewalLimit = 20_000;
/** How often jobs without an agent are checked, in milliseconds. */
const checkEvery = 5000;
/** For how many seconds a new listener waits for its first agent. */
const firstAgentLimit = 30;

interface Port {
  readonly close: () => void;
  readonly token: string | undefined;
}

interface Job {
  readonly runs: string;
  readonly ports: Map<number, Port>;
  agent: Socket | undefined;
  last?: { readonly credentials: Handout; readonly ends: Ends };
  failure?: string;
  renewal?: PromiseWithResolvers<void> | undefined;
}

const jobs = new Map<string, Job>();
const agents = new Set<Socket>();
let isEnding = false;
let hadAgent = false;

// Whatever fails, the ports stay open.
process.on("uncaughtException", () => {});
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
// When a machine shuts down, a terraform that saves its state still needs credentials.
process.on("SIGTERM", () => {
  isEnding = true;
  check();
});

writeWhole(identityName, JSON.stringify(identityOf(process.pid)));
// Left by a listener that has ended, which the agent has found out.
rmSync(socketName, { force: true });
createServer(serveAgent).listen(socketName);
for (;;) {
  await sleep(checkEvery);
  check();
}

/** Closes what nothing needs, and ends the process when it holds nothing. */
function check(): void {
  for (const [id, job] of jobs) {
    if ((job.agent && !isEnding) || isAnyRunning(job.runs)) continue;
    jobs.delete(id);
    for (const { close } of job.ports.values()) close();
    job.renewal?.resolve();
  }
  const isExpected = agents.size > 0 || (!hadAgent && process.uptime() < firstAgentLimit);
  if (jobs.size === 0 && (isEnding || !isExpected)) process.exit();
}

function serveAgent(agent: Socket): void {
  hadAgent = true;
  agents.add(agent);
  agent.on("error", () => {});
  agent.once("close", () => {
    agents.delete(agent);
    for (const [id, job] of jobs) if (job.agent === agent) release(id);
    check();
  });
  hear(agent, (order) => void obey(agent, order as Order));
}

function release(id: string): void {
  const job = jobs.get(id);
  if (!job) return;
  job.agent = undefined;
  job.renewal?.resolve();
}

async function obey(agent: Socket, order: Order): Promise<void> {
  switch (order.do) {
    case "ping":
      return tell(agent, { n: order.n });
    case "adopt": {
      const job = jobs.get(order.job);
      const isHeld = job?.ports.get(order.port)?.token === order.token;
      if (job && isHeld) job.agent = agent;
      return tell(agent, { n: order.n, value: isHeld });
    }
    case "open":
      return openPort(agent, order).then(
        (value) => tell(agent, { n: order.n, value }),
        (error: Error) => tell(agent, { n: order.n, error: error.message }),
      );
    case "give":
    case "fail": {
      const job = jobs.get(order.job);
      if (!job) return;
      if (order.do === "fail") job.failure = order.message;
      else job.last = { credentials: order.credentials, ends: endsIn(order.credentials.life) };
      job.renewal?.resolve();
      return;
    }
    case "release":
      release(order.job);
      check();
  }
}

async function openPort(
  agent: Socket,
  { job: id, runs, port, token }: Extract<Order, { do: "open" }>,
): Promise<number> {
  const job = jobs.get(id) ?? { runs, ports: new Map<number, Port>(), agent };
  job.agent = agent;
  jobs.set(id, job);
  const held = port === undefined ? undefined : job.ports.get(port);
  if (port !== undefined && held && held.token === token) return port;
  for (let tries = 1; ; tries++) {
    const at = port ?? randomInt(ports.from, ports.to);
    try {
      const close = await serveCredentials(at, token, () => current(id, job));
      // The job may have ended meanwhile.
      if (jobs.get(id) === job) job.ports.set(at, { close, token });
      else close();
      return at;
    } catch (error) {
      if (port !== undefined || tries === portTries) throw error;
    }
  }
}

/** Returns credentials that are valid now, or why there are none. */
async function current(id: string, job: Job): Promise<Handout | string> {
  const valid = validOf(job);
  if (valid) return valid;
  if (!job.agent) return "it is away, and the last ones have expired";
  job.failure = "it does not respond";
  if (!job.renewal) {
    job.renewal = Promise.withResolvers();
    tell(job.agent, { renew: id });
  }
  const { renewal } = job;
  await Promise.race([renewal.promise, sleep(renewalLimit)]);
  if (job.renewal === renewal) job.renewal = undefined;
  return validOf(job) ?? job.failure;
}

function validOf({ last }: Job): Handout | undefined {
  const life = last ? leftOf(last.ends) : 0;
  return last && life > 0 ? { ...last.credentials, life } : undefined;
}
