/** `windlass agent doctor` on a healthy machine, and on one with each fault that it finds. */
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../common/doctor/finding.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import { addTestWorker, type TestWorker } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { addOwner } from "../helpers/plane/rows.ts";
import { redirectingServer } from "../helpers/network/redirecting-server.ts";
import { fillDisk, makeReadOnly, needsRoot, smallDisk } from "../helpers/machine/small-disk.ts";
import { root } from "../helpers/project/source-files.ts";
import { bin, windlass } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { listen } from "../helpers/network/listen.ts";

const { plane } = planeForFile();
let worker: TestWorker;
const place = folderForFile();
beforeAll(async () => {
  chmodSync(place, 0o711);
  worker = await addTestWorker(plane, await addOwner(plane.context.store));
});

let count = 0;
const environment = (more: Record<string, string> = {}) => ({
  WINDLASS_URL: plane.url,
  WINDLASS_WORKER_ID: worker.id,
  WINDLASS_WORKER_TOKEN: worker.headers["x-worker-token"] ?? "",
  WINDLASS_WORK_DIR: join(place, `work-${++count}`),
  ...more,
});

async function doctor(env: Record<string, string>, ...args: string[]) {
  const { exitCode, stdout } = await windlass(["agent", "doctor", "--json", ...args], { env });
  const findings = JSON.parse(stdout as string) as Finding[];
  const of = (check: string) => findings.find((one) => one.check === check);
  return { exitCode, findings, of };
}

describe.concurrent("windlass agent doctor", () => {
  test("prints one line for each check of a healthy machine, and leaves no files", async () => {
    const env = environment();
    mkdirSync(env.WINDLASS_WORK_DIR, { mode: 0o700 });
    const before = statSync(env.WINDLASS_WORK_DIR).mode;
    const { exitCode, stdout } = await windlass(["agent", "doctor"], { env });
    expect(stdout).toMatch(/^ok +server +http:\/\/127\.0\.0\.1:\d+ responds in \d+ ms$/m);
    expect(stdout).toMatch(/^ok +clock +agrees/m);
    expect(stdout).toMatch(new RegExp(`^ok +identity +worker ${worker.name}`, "m"));
    expect(stdout).toMatch(/^ok +engine +terraform \d/m);
    expect(stdout).toMatch(/^\w+ +isolation +\w+/m);
    expect(stdout).toMatch(
      /^ok +identities +aws, vault, with tokens of http:\/\/\S+; not aws_web_identity, azure, gcp: the issuer must have https \(WINDLASS_ISSUER_URL of the control plane\)$/m,
    );
    expect(stdout).toMatch(/^skipped +cloud role/m);
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain(env.WINDLASS_WORKER_TOKEN);
    expect(readdirSync(env.WINDLASS_WORK_DIR)).toEqual([]);
    expect(statSync(env.WINDLASS_WORK_DIR).mode).toBe(before);
  });

  test("warns of an address for the agent's status that is in use", async () => {
    const server = createServer();
    await using taken = await listen(server);
    const { exitCode, of } = await doctor(
      environment({ WINDLASS_STATUS_ADDRESS: new URL(taken.url).host }),
    );
    expect(of("status")).toMatchObject({
      state: "warning",
      text: expect.stringContaining("EADDRINUSE"),
    });
    expect(exitCode).toBe(0);
    const free = await doctor(environment({ WINDLASS_STATUS_ADDRESS: "127.0.0.1:0" }));
    expect(free.of("status")).toMatchObject({ state: "ok" });
  });

  test("looks at the mirror of providers, if there is one", async () => {
    const at = async (mirror: string) => {
      const { exitCode, of } = await doctor(environment({ WINDLASS_PROVIDER_MIRROR: mirror }));
      return { exitCode, ...of("providers") };
    };
    expect(await at(place)).toMatchObject({ exitCode: 0, state: "ok" });
    for (const missing of [join(place, "none"), "https://127.0.0.1:9/mirror/"])
      expect(await at(missing)).toMatchObject({
        exitCode: 1,
        state: "failed",
        text: expect.stringContaining(`${missing} (WINDLASS_PROVIDER_MIRROR): `),
      });
  });

  test("creates no directory where no agent has started yet", async () => {
    const fresh = join(place, "fresh");
    mkdirSync(fresh, { mode: 0o711 });
    const workDir = join(fresh, ".windlass", "agent");
    const { of } = await doctor(environment({ WINDLASS_WORK_DIR: workDir }));
    expect(of("work dir")).toMatchObject({ text: `${workDir} will be created at the first start` });
    expect(of("engine")).toMatchObject({ state: "ok" });
    expect(readdirSync(fresh)).toEqual([]);
  });

  test("reports an address where nothing listens, with what to do", async () => {
    const { exitCode, of } = await doctor(environment({ WINDLASS_URL: "http://127.0.0.1:9" }));
    expect(of("server")).toMatchObject({
      state: "failed",
      advice: expect.stringContaining("nothing listens there"),
    });
    expect(exitCode).toBe(1);
  });

  test("ends quietly, and leaves no files, when its reader has gone", async () => {
    const parent = join(place, "piped");
    mkdirSync(parent);
    const env = environment({ WINDLASS_WORK_DIR: join(parent, "work") });
    const command = `"${bin}" agent doctor | head -n 1`;
    const { stdout, stderr } = await execa("sh", ["-c", command], { env });
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^ok +settings/), ""]);
    expect(readdirSync(parent)).toEqual([]);
  });

  test("reports an address that only redirects, with the one to set", async () => {
    await using elsewhere = await redirectingServer((path) => `https://windlass.test${path}`);
    const moved = await doctor(environment({ WINDLASS_URL: elsewhere.url }));
    expect(moved.of("server")).toMatchObject({
      state: "failed",
      text: `${elsewhere.url} redirects to https://windlass.test`,
      advice: "set WINDLASS_URL to https://windlass.test",
    });
    expect(moved.exitCode).toBe(1);
    await using signIn = await redirectingServer(() => "https://sso.test/sign-in", 302);
    const page = await doctor(environment({ WINDLASS_URL: signIn.url }));
    expect(page.of("server")).toMatchObject({
      state: "failed",
      text: `${signIn.url} redirects to https://sso.test/sign-in`,
      advice: "check that WINDLASS_URL is the address of a Windlass control plane",
    });
  });

  test("reports a token that the server refuses, and an agent that is not registered", async () => {
    const refused = await doctor(environment({ WINDLASS_WORKER_TOKEN: "wlw_replaced" }));
    expect(refused.of("identity")).toMatchObject({ state: "failed" });
    const { WINDLASS_WORKER_ID: _, WINDLASS_WORKER_TOKEN: __, ...unregistered } = environment();
    expect((await doctor(unregistered)).of("identity")).toMatchObject({
      state: "failed",
      text: "this agent is not registered",
    });
  });

  test("reports a certificate of an unknown authority with one advice", async () => {
    const folder = join(place, "tls");
    mkdirSync(folder);
    const { tls, file } = makeCertificate(folder);
    await using server = await listen(createSecureServer(tls, (_, response) => response.end()));
    const WINDLASS_URL = server.url.replace("http:", "https:");
    expect((await doctor(environment({ WINDLASS_URL }))).of("server")).toMatchObject({
      state: "failed",
      text: `${WINDLASS_URL} cannot be reached: its certificate is from an unknown authority`,
      advice: expect.stringMatching(/^set SSL_CERT_FILE to /),
    });
    const { of } = await doctor(environment({ WINDLASS_URL, SSL_CERT_FILE: file }));
    expect(of("server")).toMatchObject({ state: "ok" });
  });

  test("does not promise that a registration token is accepted", async () => {
    const { WINDLASS_WORKER_ID: _, WINDLASS_WORKER_TOKEN: __, ...unregistered } = environment();
    const env = { ...unregistered, WINDLASS_REGISTRATION_TOKEN: "wlr_0123456789" };
    const { exitCode, stdout } = await windlass(["agent", "doctor"], { env });
    expect(stdout).toMatch(
      /^skipped +identity +registers at the first start, which checks the registration token$/m,
    );
    expect(stdout).toMatch(
      /\nThe agent can work here if the server accepts the registration token\.$/,
    );
    expect(exitCode).toBe(0);
  });

  test("tries the engine mirror if no engine is installed", async () => {
    const builds = ["amd64", "arm64"].map((arch) => ({ os: "linux", arch }));
    const versions = { "1.11.4": { builds }, "1.12.0-beta1": { builds } };
    const mirror = createServer(({ url }, response) => {
      response.statusCode = url === "/terraform/index.json" ? 200 : 404;
      response.end(JSON.stringify({ versions }));
    });
    await using listening = await listen(mirror);
    // Without bin/windlass, which needs programs of the PATH.
    const engineWith = async (WINDLASS_ENGINE_MIRROR: string) => {
      const WINDLASS_TOFU_MIRROR = WINDLASS_ENGINE_MIRROR;
      const env = environment({
        PATH: join(place, "empty"),
        WINDLASS_ENGINE_MIRROR,
        WINDLASS_TOFU_MIRROR,
      });
      const words = [join(root, "main.ts"), "agent", "doctor", "--json"];
      const { stdout } = await execa(process.execPath, words, { env, reject: false });
      return (JSON.parse(stdout) as Finding[]).find(({ check }) => check === "engine");
    };
    expect(await engineWith(listening.url)).toMatchObject({
      state: "ok",
      text: `neither terraform nor tofu is on the PATH; jobs download terraform from ${listening.url} (the newest one there is 1.11.4); tofu cannot be downloaded: ${listening.url}/api.json responded with status 404`,
    });
    expect(await engineWith(`${listening.url}/wrong/`)).toMatchObject({
      state: "failed",
      text: `neither terraform nor tofu is on the PATH; terraform cannot be downloaded: ${listening.url}/wrong/terraform/index.json responded with status 404; tofu cannot be downloaded: ${listening.url}/wrong/api.json responded with status 404`,
      advice:
        "install one on the agent's PATH, or set WINDLASS_ENGINE_MIRROR or WINDLASS_TOFU_MIRROR to an address of releases that this machine can reach",
    });
  });

  test("accepts the same server at a new address, and reports another server or a damaged identity", async () => {
    const {
      WINDLASS_WORKER_ID: workerId,
      WINDLASS_WORKER_TOKEN: workerToken,
      ...rest
    } = environment();
    const env = { ...rest, WINDLASS_WORK_DIR: rest.WINDLASS_WORK_DIR };
    mkdirSync(env.WINDLASS_WORK_DIR, { mode: 0o700 });
    const storeIdentity = (token: string) => {
      const stored = { server: "http://former.example.com", workerId, workerToken: token };
      writeFileSync(join(env.WINDLASS_WORK_DIR, "identity.json"), JSON.stringify(stored));
    };
    storeIdentity(workerToken);
    expect((await doctor(env)).of("identity")).toMatchObject({
      state: "ok",
      text: expect.stringMatching(
        /^worker worker, [A-Z]+; registered at http:\/\/former\.example\.com, and this is the same server$/,
      ),
    });
    storeIdentity("wlw_of-another-server");
    expect((await doctor(env)).of("identity")).toMatchObject({
      state: "failed",
      text: `this agent is registered at http://former.example.com, and ${plane.url} does not prove to be the same server`,
      advice: expect.stringContaining("WINDLASS_REGISTRATION_TOKEN"),
    });
    writeFileSync(join(env.WINDLASS_WORK_DIR, "identity.json"), "not JSON");
    expect((await doctor(env)).of("identity")).toMatchObject({
      state: "failed",
      text: expect.stringContaining("identity.json is damaged"),
    });
  });

  test("sends no token to what listens in place of a control plane that has proved itself", async () => {
    const tokens: unknown[] = [];
    const server = createServer(({ headers }, response) => {
      tokens.push(headers["x-worker-token"]);
      response.setHeader("content-type", "application/json").end("{}");
    });
    await using listening = await listen(server);
    const env = environment({ WINDLASS_URL: listening.url });
    mkdirSync(env.WINDLASS_WORK_DIR, { mode: 0o700 });
    const known = JSON.stringify({ server: listening.url, provesItself: true });
    writeFileSync(join(env.WINDLASS_WORK_DIR, "server.json"), known);
    expect((await doctor(env)).of("identity")).toMatchObject({
      state: "failed",
      text: expect.stringContaining("does not prove that it is the control plane"),
    });
    // The readiness, what the connection had to prove, and the issuer of tokens.
    expect(tokens).toEqual([undefined, undefined, undefined]);
    expect(readdirSync(env.WINDLASS_WORK_DIR)).toEqual(["server.json"]);
  });

  test("reports a clock that is a day ahead", async () => {
    const { hostname, port } = new URL(plane.url);
    // Forwards to the server and sets the Date header a day back.
    const proxy = createServer((incoming, outgoing) => {
      const socket = connect(Number(port), hostname);
      let answer = "";
      socket.setEncoding("latin1").on("data", (text: string) => (answer += text));
      socket.on("end", () => {
        outgoing.setHeader("date", new Date(Date.now() - 86_400_000).toUTCString());
        outgoing.writeHead(Number(answer.split(" ")[1]));
        outgoing.end(answer.slice(answer.indexOf("\r\n\r\n") + 4));
      });
      const headers = Object.entries(incoming.headers).filter(([name]) => name !== "connection");
      const lines = headers.map(([name, value]) => `${name}: ${String(value)}`);
      socket.write(
        `${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\nconnection: close\r\n\r\n`,
      );
      incoming.pipe(socket, { end: false });
    });
    await using listening = await listen(proxy);
    const { of } = await doctor(environment({ WINDLASS_URL: listening.url }));
    expect(of("clock")).toMatchObject({
      state: "failed",
      text: expect.stringMatching(/^8\d{4} s ahead of the server's$/),
    });
  });

  test("reports a wrong setting, a misspelt one, and an isolation level that does not work", async () => {
    const wrong = await doctor(environment({ WINDLASS_CONCURRENCY: "0" }));
    expect(wrong.findings).toEqual([
      expect.objectContaining({ check: "settings", state: "failed" }),
    ]);
    const env = environment({ WINDLASS_CONCURENCY: "2", WINDLASS_ISOLATION: "container" });
    const { of, exitCode } = await doctor(env);
    expect(of("settings")).toMatchObject({ state: "warning" });
    expect(of("isolation")).toMatchObject({
      state: "failed",
      text: expect.stringContaining("WINDLASS_CONTAINER_IMAGE"),
    });
    expect(exitCode).toBe(1);
  });

  test("reports a disk with too little space for the agent to take jobs", async () => {
    const env = environment({ WINDLASS_FREE_DISK_MIB: "1000000000" });
    mkdirSync(env.WINDLASS_WORK_DIR, { mode: 0o700 });
    const { of, exitCode } = await doctor(env);
    expect(of("work dir")).toMatchObject({
      state: "failed",
      text: expect.stringMatching(/GiB free$/),
      advice: expect.stringContaining("with less than 976562.5 GiB the agent takes no job"),
    });
    expect(exitCode).toBe(1);
  });

  test.for(["new", "made"])(
    "reports a work directory (%s) on a full and on a read-only disk, and tries no isolation there",
    async (name, { skip }) => {
      await using disk = await smallDisk(1);
      if (disk === undefined) return skip(needsRoot);
      const workDir = join(disk.path, name);
      if (name === "made") mkdirSync(workDir);
      const look = () => doctor(environment({ WINDLASS_WORK_DIR: workDir }));
      const isolation = { state: "skipped", text: "needs a work directory" };

      fillDisk(join(disk.path, "filler"));
      const full = await look();
      expect(full.of("work dir")).toMatchObject({
        state: "failed",
        text: expect.stringMatching(new RegExp(`^${workDir}: ENOSPC: `)),
        advice:
          "free some space on its disk, or set WINDLASS_WORK_DIR to a directory on another one",
      });
      expect(full.of("isolation")).toMatchObject(isolation);

      await makeReadOnly(disk.path);
      const readOnly = await look();
      expect(readOnly.of("work dir")).toMatchObject({
        state: "failed",
        text: expect.stringMatching(new RegExp(`^${workDir}: EROFS: `)),
        advice: "its disk is read-only: set WINDLASS_WORK_DIR to a directory on another one",
      });
      expect(readOnly.of("isolation")).toMatchObject(isolation);
      expect(readdirSync(disk.path)).toEqual(["filler", ...(name === "made" ? [name] : [])]);
    },
  );

  test("reports a work directory below a file, and goes on", async () => {
    writeFileSync(join(place, "file"), "");
    const { of } = await doctor(environment({ WINDLASS_WORK_DIR: join(place, "file/work") }));
    expect(of("work dir")).toMatchObject({
      state: "failed",
      text: expect.stringContaining(`ENOTDIR: not a directory`),
      advice: "no directory can be made there: set WINDLASS_WORK_DIR to another one",
    });
    expect(of("engine")).toMatchObject({ state: "ok" });
  });

  test("refuses an external id without its role", async () => {
    const { exitCode, stdout, stderr } = await windlass(["agent", "doctor", "--external-id", "e"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain("--external-id needs --role-arn");
  });

  test("reports why a cloud role cannot be taken on", async () => {
    const arn = "arn:aws:iam::123456789012:role/windlass";
    const HOME = place;
    const env = environment({ HOME, AWS_EC2_METADATA_DISABLED: "true", AWS_REGION: "eu-west-1" });
    const { of } = await doctor(env, "--role-arn", arn, "--external-id", "e");
    expect(of("cloud role")).toMatchObject({
      state: "failed",
      text: expect.stringContaining(
        `has no AWS credentials of its own with which to assume the role ${arn}`,
      ),
    });
  });
});
