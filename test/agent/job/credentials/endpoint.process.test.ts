import { once } from "node:events";
import {
  existsSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { request } from "undici";
import { Endpoint } from "../../../../agent/job/credentials/endpoint.ts";
import {
  endpointEnvironment,
  type EndpointAddress,
} from "../../../../agent/job/credentials/endpoint-address.ts";
import type { Handout } from "../../../../agent/job/credentials/listener-messages.ts";
import { RenewedSession } from "../../../../agent/job/credentials/renewed-session.ts";
import { openRun, type Run } from "../../../../agent/job/terraform/process.ts";
import { until } from "../../../helpers/agent/agent-process.ts";
import { folderForEachTest } from "../../../helpers/machine/folders.ts";
import { processesOf } from "../../../helpers/machine/processes.ts";

let workDir: string;
folderForEachTest((path) => (workDir = path));
let over: AbortController;
beforeEach(() => {
  over = new AbortController();
});
const commands = new Set<() => Promise<unknown>>();
afterEach(async () => {
  over.abort();
  for (const end of commands) await end();
  commands.clear();
  await until(() => processesOf(workDir).length === 0);
});

let sets = 0;
const setOf = (life: number) => ({
  accessKeyId: `AKID-${++sets}`,
  secretAccessKey: "secret",
  sessionToken: "session",
  life,
});

interface Opened {
  readonly endpoint: Endpoint;
  readonly session: RenewedSession<Handout>;
  readonly troubles: string[];
  /** The address for the next commands. */
  readonly address: EndpointAddress;
}

/** The endpoint of a job as an agent holds it until `over`. */
function endpointOf(
  job: string,
  life: number | Error,
  end = over.signal,
  makeSet: (life: number) => Handout = setOf,
): Opened {
  const troubles: string[] = [];
  const addresses: EndpointAddress[] = [];
  const onTrouble = (text: string): void => void troubles.push(text);
  const session: RenewedSession<Handout> = new RenewedSession<Handout>({
    source: "STS",
    obtain: async () => {
      if (life instanceof Error) throw life;
      return makeSet(life);
    },
    over: end,
    onCredentials: () => {},
    onRenewed: () => endpoint.renewed(),
    onTrouble,
  });
  const runs = runsOf(job);
  const endpoint = new Endpoint({
    job,
    workDir,
    runs,
    session,
    over: end,
    onAddress: (address) => addresses.push(address),
    onTrouble,
  });
  return {
    endpoint,
    session,
    troubles,
    get address() {
      return addresses.at(-1) ?? { port: 0, token: "" };
    },
  };
}

const runsOf = (job: string): string => join(workDir, "jobs", job, "runs");

async function opened(
  job: string,
  life: number | Error,
  makeSet: (life: number) => Handout = setOf,
): Promise<Opened> {
  const one = endpointOf(job, life, over.signal, makeSet);
  await one.endpoint.open();
  if (!(life instanceof Error)) await one.session.current();
  return one;
}

/** A command of the job that runs until it is told to end. */
function commandOf(job: string): Run & { end(): Promise<unknown> } {
  const directory = join(runsOf(job), "08-apply");
  const stop = join(workDir, `stop-${job}`);
  const run = openRun({
    directory,
    command: "/bin/sh",
    args: ["-c", `while [ ! -e '${stop}' ]; do sleep 0.05; done`],
    cwd: workDir,
    env: { PATH: process.env["PATH"] ?? "" },
  });
  const end = (): Promise<unknown> => {
    writeFileSync(stop, "");
    return run.ended;
  };
  commands.add(end);
  return { ...run, end };
}

const started = (job: string): Promise<boolean> =>
  until(() => existsSync(join(runsOf(job), "08-apply", "child")));

const listener = (): { pid: number } =>
  JSON.parse(readFileSync(join(workDir, "credentials", "process.json"), "utf8")) as never;

/** MiB that only this process has. */
function memoryOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/Private_Dirty: +(\d+) kB/.exec(text)?.[1]) / 1024;
}

async function ask(
  address: EndpointAddress,
  options: { token?: string | undefined; method?: string; path?: string } = address,
) {
  const { AWS_CONTAINER_CREDENTIALS_FULL_URI: full = "" } = endpointEnvironment(address);
  const url = options.path === undefined ? full : new URL(options.path, full).href;
  const { statusCode, body } = await request(url, {
    // Each on a connection of its own.
    reset: true,
    method: (options.method ?? "GET") as "GET",
    headers: options.token === undefined ? {} : { authorization: options.token },
  });
  return { status: statusCode, body: (await body.json()) as Record<string, string> };
}

/** Returns the error's code, as another job gets it that binds the port. */
async function bind(port: number): Promise<string | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    server.close();
  }
}

describe("an endpoint", () => {
  test("gives a request with the token the credentials and their expiry by this machine's clock", async () => {
    const { address } = await opened("one", 60_000);
    const { status, body } = await ask(address);
    expect(status).toBe(200);
    expect(body).toMatchObject({ SecretAccessKey: "secret", Token: "session" });
    const left = Date.parse(body["Expiration"] ?? "") - Date.now();
    expect(left).toBeGreaterThan(30_000);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  test("gives a request without the token nothing, whatever its path", async () => {
    const { address } = await opened("one", 60_000);
    const { token } = address;
    for (const wrong of [undefined, "", "x", `${token}x`, token.slice(1), `Basic ${token}`]) {
      const { status, body } = await ask(address, { token: wrong });
      expect(status).toBe(403);
      expect(JSON.stringify(body)).not.toContain("secret");
    }
    expect((await ask(address, { path: "/" })).status).toBe(403);
    expect((await ask(address, { token, path: "/credentials/x" })).status).toBe(404);
    expect((await ask(address, { token, method: "POST" })).status).toBe(405);
  });

  test("gives a token of the job as Azure's and Google's libraries ask for it, for its audience only, and nothing else", async () => {
    const audience = "api://AzureADTokenExchange";
    const { address, session, endpoint } = await opened("one", 60_000, (life) => ({
      token: `ey-${++sets}`,
      audience,
      life,
    }));
    const token = `Bearer ${address.token}`;
    const [path] = ["/token"];
    const first = (await ask(address, { token, path })).body["value"];
    expect(first).toMatch(/^ey-\d+$/);
    const query = `/token?api-version=2&audience=${encodeURIComponent(audience)}`;
    expect(await ask(address, { token, path: query })).toEqual({
      status: 200,
      body: { value: first },
    });
    expect(await ask(address, { token, path: "/token?audience=sts.amazonaws.com" })).toEqual({
      status: 403,
      body: {
        code: "AudienceNotAllowed",
        message: `the cloud identity of this job is for the audience ${audience} only`,
      },
    });
    expect((await ask(address)).status).toBe(404);
    session.reset();
    await session.current();
    await endpoint.settle();
    expect((await ask(address, { token, path })).body["value"]).not.toBe(first);
    const role = await opened("two", 60_000);
    expect((await ask(role.address, { token: role.address.token, path })).status).toBe(404);
    expect((await ask(address, { token: role.address.token, path })).status).toBe(403);
  });

  test("responds with 503 and the reason without credentials, and asks the agent when they have expired", async () => {
    const { address } = await opened("none", new Error("STS is down"));
    expect(await ask(address)).toEqual({
      status: 503,
      body: { code: "NoCredentials", message: "the agent has no credentials: STS is down" },
    });
    const { address: short } = await opened("short", 0);
    const before = sets;
    expect((await ask(short)).body["message"]).toContain("the last ones have expired");
    expect(sets).toBe(before + 1);
  });

  test("is one of each job, held by one process, and closed when the job ends", async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, job) => opened(String(job), 60_000)),
    );
    expect(new Set(all.map(({ address }) => address.port)).size).toBe(20);
    for (const { address } of all) expect((await ask(address)).status).toBe(200);
    expect(processesOf(workDir)).toHaveLength(1);
    over.abort();
    await until(() => processesOf(workDir).length === 0);
    for (const { address } of all) await expect(ask(address)).rejects.toThrow("ECONNREFUSED");
  });

  test("of an agent that held the port itself is opened again as soon as the port is free", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const command = commandOf("one");
    await started("one");
    const { endpoint, session, troubles } = endpointOf("one", 60_000);
    await session.current();
    await endpoint.resume({ port, token: "of-the-old-agent" }, false);
    await expect.poll(() => troubles).toHaveLength(1);
    expect(troubles[0]).toContain(
      `127.0.0.1:${port}, from which terraform reads its credentials, cannot be opened`,
    );
    other.close();
    await expect.poll(() => troubles).toHaveLength(2);
    expect((await ask({ port, token: "of-the-old-agent" })).status).toBe(200);
    await command.end();
  });
});

describe("the listener", () => {
  test("keeps the port of a running command without its agent, serves the last credentials until they expire, and ends with the command", async () => {
    const { address } = await opened("one", 4000);
    const first = await ask(address);
    expect(first.status).toBe(200);
    const command = commandOf("one");
    await started("one");
    const { pid } = listener();
    over.abort();
    expect(await bind(address.port)).toBe("EADDRINUSE");
    expect((await ask(address)).body["AccessKeyId"]).toBe(first.body["AccessKeyId"]);
    await until(() => performance.now() > 0 && Date.parse(first.body["Expiration"]!) < Date.now());
    expect(await ask(address)).toEqual({
      status: 503,
      body: {
        code: "NoCredentials",
        message: "the agent has no credentials: it is away, and the last ones have expired",
      },
    });
    expect(await bind(address.port)).toBe("EADDRINUSE");
    expect(listener().pid).toBe(pid);
    await command.end();
    await until(() => processesOf(workDir).length === 0);
    expect(await bind(address.port)).toBeUndefined();
  });

  test("gives the next agent the same address, which serves its new credentials", async () => {
    const first = await opened("one", 60_000);
    const { address } = first;
    const { body } = await ask(address);
    const command = commandOf("one");
    await started("one");
    const { pid } = listener();
    over.abort();
    over = new AbortController();
    const second = endpointOf("one", 60_000);
    await second.endpoint.resume(address, true);
    expect((await ask(address)).body["AccessKeyId"]).toBe(body["AccessKeyId"]);
    await second.session.current();
    await expect
      .poll(async () => (await ask(address)).body["AccessKeyId"])
      .not.toBe(body["AccessKeyId"]);
    expect(second.troubles).toEqual([]);
    expect(second.address.port).toBe(0);
    expect(listener().pid).toBe(pid);
    await command.end();
  });

  test("refuses the password of a running command for good if it was gone, and gives the next commands another address", async () => {
    const one = await opened("one", 60_000);
    const { address } = one;
    const command = commandOf("one");
    await started("one");
    process.kill(listener().pid, "SIGKILL");
    await expect.poll(() => one.address.port).not.toBe(address.port);
    expect((await ask(one.address)).status).toBe(200);
    await expect.poll(async () => bind(address.port)).toBe("EADDRINUSE");
    const { status, body } = await ask(address);
    expect(status).toBe(503);
    expect(body["message"]).toContain("another one may have read the password");
    expect(one.troubles[0]).toMatch(/\(pid \d+\) has ended$/);
    expect(one.troubles[1]).toContain("the running command reads its credentials was free");
    expect((await ask(address, { token: one.address.token })).status).toBe(503);
    // The next agent does not trust that address either.
    process.kill(listener().pid, "SIGKILL");
    over.abort();
    over = new AbortController();
    const next = endpointOf("one", 60_000);
    await next.session.current();
    await next.endpoint.resume(one.address, true);
    expect((await ask(next.address)).status).toBe(200);
    await expect
      .poll(async () => (await ask(one.address).catch(() => undefined))?.status)
      .toBe(503);
    await command.end();
  });

  test("is continued when it was stopped", async () => {
    await opened("one", 60_000);
    process.kill(listener().pid, "SIGSTOP");
    const { address } = await opened("two", 60_000);
    expect((await ask(address)).status).toBe(200);
  });

  test("has a session of its own, little memory, nothing of the agent's environment, and a directory that only its user may enter", async () => {
    const { address } = await opened("one", 60_000);
    const { pid } = listener();
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    expect(stat.slice(2, 4)).toEqual([String(pid), String(pid)]);
    const names = readFileSync(`/proc/${pid}/environ`, "utf8").match(/^\w+|(?<=\0)\w+/g) ?? [];
    for (const name of names) expect(name).toMatch(/^(MALLOC_ARENA_MAX|NODE_COMPILE_CACHE)$/);
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain(address.token);
    for (const fd of ["0", "1", "2"])
      expect(readlinkSync(`/proc/${pid}/fd/${fd}`)).toBe("/dev/null");
    expect(memoryOf(pid)).toBeLessThan(40);
    expect(statSync(join(workDir, "credentials")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(workDir, "credentials")).toSorted()).toEqual([
      "process.json",
      "socket",
    ]);
  });

  test("serves a job whatever others send, in little memory", async () => {
    const { address } = await opened("one", 60_000);
    const { pid } = listener();
    const sockets: Socket[] = [];
    const attack = async (text: string): Promise<void> => {
      const socket = connect(address.port, "127.0.0.1");
      socket.on("error", () => undefined);
      sockets.push(socket);
      if (text !== "") socket.write(text);
      // It may be closed at once.
      await Promise.race(["connect", "close"].map((event) => once(socket, event))).catch(() => {});
    };
    const wrong = "GET /credentials HTTP/1.1\r\nhost: x\r\nauthorization: x\r\n\r\n";
    const texts = [
      "",
      `GET / HTTP/1.1\r\nx: ${"x".repeat(15_000)}`,
      `GET / HTTP/1.1\r\nx: ${"x".repeat(60_000)}\r\n\r\n`,
      // Its responses are never read.
      wrong.repeat(1000),
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999\r\n\r\n${"x".repeat(100_000)}`,
      "\0\0\0",
      // A pattern that tries every place of such a header takes minutes.
      `GET / HTTP/1.1\r\nauthorization: a${" ".repeat(8000)}b\r\n\r\n`,
    ];
    for (const text of texts) {
      await Promise.all(Array.from({ length: 520 }, () => attack(text)));
      expect((await ask(address)).status).toBe(200);
    }
    expect(listener().pid).toBe(pid);
    const descriptors = readdirSync(`/proc/${pid}/fd`).length;
    expect(descriptors).toBeLessThan(600);
    expect(memoryOf(pid)).toBeLessThan(150);
    for (const socket of sockets) socket.destroy();
  });
});
