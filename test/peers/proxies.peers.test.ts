/** The files of deploy/ for reverse proxies, read by real ones in front of a server and an agent. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, getGlobalDispatcher, request, setGlobalDispatcher } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mebibyte } from "../../common/units.ts";
import { debugLogLimit } from "../../protocol/limits.ts";
import { startHeldApply } from "../helpers/agent/held-apply.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import { recordRequests, sendBytes } from "../helpers/network/seen-requests.ts";
import { smuggledFrom, smugglingAttempts } from "../helpers/network/smuggled-requests.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { openPerson } from "../helpers/people/sign-in.ts";
import { addTestUser } from "../helpers/people/user.ts";
import { addHeldJob, ask, startPlane, type Plane } from "../helpers/plane/plane.ts";
import { root } from "../helpers/project/source-files.ts";
import { lackOfProgram, skipAt } from "../helpers/project/tools.ts";

/** Where a proxy under test listens, and what is behind it. */
interface Place {
  readonly folder: string;
  readonly port: number;
  readonly plainPort: number;
  readonly certificate: string;
  readonly key: string;
  /** Host and port of the server. */
  readonly server: string;
}
interface Proxy {
  readonly file: string;
  /** What replaces the addresses, ports and paths of the file. */
  replace(place: Place): Record<string, string>;
  /** What an operator's own configuration has around the file. */
  around?(text: string, place: Place): string;
  arguments(file: string, place: Place): string[];
}

const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    file: "nginx.conf",
    replace: ({ port, plainPort, certificate, key, server }) => ({
      "listen [::]:80;": "",
      "listen [::]:443 ssl;": "",
      "listen 80;": `listen 127.0.0.1:${plainPort};`,
      "listen 443 ssl;": `listen 127.0.0.1:${port} ssl;`,
      "/etc/ssl/windlass/fullchain.pem": certificate,
      "/etc/ssl/windlass/privkey.pem": key,
      "127.0.0.1:8080": server,
    }),
    around: (text, { folder }) =>
      `daemon off; pid ${folder}/pid; events {} http { access_log off; ${text} }`,
    arguments: (file, { folder }) => ["-p", folder, "-e", "stderr", "-c", file],
  },
  caddy: {
    file: "Caddyfile",
    replace: ({ port, certificate, key, server }) => ({
      "windlass.example.com {": `https://127.0.0.1:${port} {\ntls ${certificate} ${key}`,
      "127.0.0.1:8080": server,
    }),
    around: (text) => `{\nadmin off\nauto_https off\n}\n${text}`,
    arguments: (file) => ["run", "--adapter", "caddyfile", "--config", file],
  },
  haproxy: {
    file: "haproxy.cfg",
    replace: ({ port, plainPort, certificate, server }) => ({
      "bind :80": `bind 127.0.0.1:${plainPort}`,
      "bind :443": `bind 127.0.0.1:${port}`,
      "/etc/ssl/windlass/windlass.pem": certificate,
      "127.0.0.1:8080": server,
    }),
    arguments: (file) => ["-db", "-f", file],
  },
};
const names = Object.keys(proxies);

const lack = lackOfProgram(...names);
skipAt(lack);

const path = folderForFile();
const before = getGlobalDispatcher();
beforeAll(() => {
  const { file } = makeCertificate(path);
  // HAProxy reads both from one file.
  appendFileSync(file, readFileSync(join(path, "key.pem")));
  const ca = readFileSync(file);
  // An address that no proxy has.
  setGlobalDispatcher(new Agent({ connect: { ca }, localAddress: "127.0.0.2" }));
});
afterAll(async () => {
  await getGlobalDispatcher().close();
  setGlobalDispatcher(before);
});

describe.for(names)("behind %s", (name) => {
  let proxy: ChildProcess;
  let behind: Plane;
  /** `behind`, reached through the proxy. */
  let plane: Plane;
  let machine: UserMachine;
  let start: () => Promise<void>;
  /** What a claim that nothing ends has returned, and after how many seconds. */
  let idle: Promise<[answer: unknown, seconds: number]>;

  const stop = async () => {
    const ended = once(proxy, "exit");
    // With the processes that it has started.
    process.kill(-Number(proxy.pid), "SIGKILL");
    await ended;
  };

  beforeAll(async () => {
    if (lack) return;
    const [port, plainPort] = [await freePort(), await freePort()];
    const url = `https://127.0.0.1:${port}`;
    behind = await startPlane({
      WINDLASS_PUBLIC_URL: url,
      WINDLASS_TRUSTED_PROXIES: "127.0.0.1",
    });
    plane = { ...behind, url };
    const folder = join(path, name);
    mkdirSync(folder);
    // The proxies leave root.
    chmodSync(folder, 0o777);
    const place: Place = {
      folder,
      port,
      plainPort,
      certificate: join(path, "cert.pem"),
      key: join(path, "key.pem"),
      server: new URL(behind.url).host,
    };
    const { file, replace, around = (all) => all, arguments: argumentsFor } = proxies[name]!;
    let text = readFileSync(join(root, "deploy", file), "utf8");
    for (const [from, to] of Object.entries(replace(place))) {
      if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`);
      text = text.replace(from, to);
    }
    const adapted = join(folder, file);
    writeFileSync(adapted, around(text, place));
    start = async () => {
      const env = { PATH: process.env["PATH"], HOME: folder, XDG_DATA_HOME: folder };
      proxy = spawn(name, argumentsFor(adapted, place), { env, stdio: "ignore", detached: true });
      while (!(await isOpen(port))) {
        if (proxy.exitCode !== null) throw new Error(`${name} has ended`);
        await sleep(50);
      }
    };
    await start();
    const { runner } = await addTestUser(plane);
    const startedAt = performance.now();
    idle = runner
      .ask("claimJob", { query: { wait: 30 } })
      .then((answer) => [answer, (performance.now() - startedAt) / 1000]);
    machine = await userMachine(plane, {
      agent: {
        SSL_CERT_FILE: place.certificate,
        WINDLASS_ISOLATION: process.getuid?.() === 0 ? "uid" : "process",
      },
    });
    await machine.ready();
  });
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    if (proxy) await stop();
    await behind?.close();
  });

  test("no request arrives that the proxy has not seen", async () => {
    const ca = readFileSync(join(path, "cert.pem"));
    for (const [what, text] of smugglingAttempts) {
      using seen = recordRequests();
      await sendBytes(plane.url, text, ca);
      const from = seen.requests.map(({ headers }) => headers["x-forwarded-for"] ?? "none");
      // Each proxy sets the address that it has seen.
      const unseen = from.filter((one) => one === "none" || one.includes(smuggledFrom));
      expect([what, unseen]).toEqual([what, []]);
    }
  });

  test("forms of the console are accepted", async () => {
    const person = await openPerson(plane);
    const response = await person.post("/zones", { name: "ours" });
    expect(response.status).toBeLessThan(400);
  });

  test("the address of the client is the one that the proxy saw", async () => {
    const { client } = machine.user;
    const headers = { "x-forwarded-for": "203.0.113.9", forwarded: "for=203.0.113.9" };
    await client.call("createZone", { body: { name: "one" } }, { headers });
    const { audit_entries } = await client.call("listAuditEntries", { query: { limit: 1 } });
    expect(audit_entries).toMatchObject([{ action: "zone.create", ip_address: "127.0.0.2" }]);
  });

  test("the largest body goes through, both ways", async () => {
    const { owner, worker, headers } = await addTestUser(plane);
    const job = await addHeldJob(plane, owner, worker, { features: '["debug"]' });
    const content = Buffer.concat([Buffer.of(0x1f, 0x8b), randomBytes(mebibyte)]);
    const body = Buffer.concat(Array.from({ length: 100 }, () => content)).subarray(
      0,
      debugLogLimit,
    );
    const sent = { ...worker.headers, "content-type": "application/gzip" };
    const stored = await ask(plane, "POST", `/api/jobs/${job.id}/debug-log`, {
      headers: sent,
      body,
    });
    expect(stored.status).toBe(201);
    const read = await ask(plane, "GET", `/api/cli/jobs/${job.id}/debug-log`, { headers });
    expect(read.body.equals(body)).toBe(true);
  });

  test("a claim waits for half a minute", async () => {
    const [answer, seconds] = await idle;
    expect(answer).toBeNull();
    expect(seconds).toBeGreaterThanOrEqual(29);
  });

  test("a line of a log arrives before the next one, and a job survives a restart of the proxy", async () => {
    const { user } = machine;
    const { job, finish } = await startHeldApply(machine);
    const stream = `${plane.url}/api/jobs/${job.id}/logs/stream`;
    const { body } = await request(stream, { headers: user.headers });
    let seen = "";
    // The apply prints nothing more until `finish` is called.
    for await (const piece of body) if ((seen += piece).includes("applying")) break;
    await stop();
    await expect(request(stream)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    finish();
    await start();
    await user.released(job);
    expect(await user.read(job)).toMatchObject({ status: "SUCCESS", attempt: 1 });
    expect(await user.log(job)).toContain("Apply complete!");
  });
});

/** Whether a program listens at the port. */
const isOpen = async (port: number): Promise<boolean> => {
  const socket = connect(port, "127.0.0.1");
  const isThere = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isThere;
};
