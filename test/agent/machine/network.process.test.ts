/** A real agent behind a proxy, and with a certificate authority of its own. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer, request } from "node:http";
import { createServer } from "node:https";
import { connect, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scratch, startAgent, until } from "../../helpers/agent-process.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
} from "../../helpers/interface-only-server.ts";

const place = scratch();
const certificate = join(place.path, "cert.pem");
let plain: InterfaceOnlyServer;
beforeAll(async () => {
  plain = await startInterfaceOnlyServer();
  const names = "subjectAltName=IP:127.0.0.1,DNS:windlass.test";
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const files = ["-keyout", join(place.path, "key.pem"), "-out", certificate];
  const rest = ["-days", "2", "-subj", "/CN=windlass.test", "-addext", names];
  execFileSync("openssl", ["req", "-x509", ...key, ...files, ...rest], { stdio: "ignore" });
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const identity = () => ({
  WINDLASS_WORKER_ID: plain.workerId,
  WINDLASS_WORKER_TOKEN: plain.workerToken,
});

/** Serves the control plane over TLS with a self-signed certificate. */
async function behindTls(): Promise<AsyncDisposable & { port: number }> {
  const tls = { key: readFileSync(join(place.path, "key.pem")), cert: readFileSync(certificate) };
  const server = createServer(tls, (incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const forwarded = request(plain.url + url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

test("a self-signed certificate is trusted only when SSL_CERT_FILE names it", async () => {
  await using tls = await behindTls();
  const WINDLASS_URL = `https://127.0.0.1:${tls.port}`;
  await using untrusting = startAgent({
    ...identity(),
    WINDLASS_URL,
    WINDLASS_WORK_DIR: join(place.path, "untrusting"),
  });
  await until(() => untrusting.log().includes("self-signed certificate"));
  await using agent = startAgent({
    ...identity(),
    WINDLASS_URL,
    WINDLASS_WORK_DIR: join(place.path, "trusting"),
    SSL_CERT_FILE: certificate,
  });
  await until(() => agent.log().includes("ready for jobs"));
});

test("the agent ends with 78 when SSL_CERT_FILE has no certificate", async () => {
  await using agent = startAgent({
    ...identity(),
    WINDLASS_URL: plain.url,
    WINDLASS_WORK_DIR: join(place.path, "no-certificate"),
    SSL_CERT_FILE: join(place.path, "key.pem"),
  });
  expect(await agent.exited).toBe(78);
  expect(agent.log()).toContain("SSL_CERT_FILE");
});

test("the agent ends with 78 for a wrong proxy address and does not print its password", async () => {
  await using agent = startAgent({
    ...identity(),
    WINDLASS_URL: plain.url,
    WINDLASS_WORK_DIR: join(place.path, "no-proxy"),
    HTTPS_PROXY: "user:planted@proxy:port",
  });
  expect(await agent.exited).toBe(78);
  expect(agent.log()).toContain("HTTPS_PROXY is not a proxy address");
  expect(agent.log()).not.toContain("planted");
});

test("the agent reaches the control plane through the proxy unless NO_PROXY names it", async () => {
  await using tls = await behindTls();
  const tunnels: string[] = [];
  const proxy = createHttpServer()
    .on("connect", (incoming: { url?: string }, socket, head: Buffer) => {
      tunnels.push(incoming.url ?? "");
      const [, port] = (incoming.url ?? "").split(":");
      const upstream = connect(Number(port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.write(head);
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on("error", () => socket.destroy());
      socket.on("error", () => upstream.destroy());
    })
    .listen(0, "127.0.0.1");
  await once(proxy, "listening");
  try {
    const settings = {
      ...identity(),
      SSL_CERT_FILE: certificate,
      // curl, git and terraform accept an address without a scheme too.
      HTTPS_PROXY: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    };
    {
      // Only the proxy can resolve this name.
      await using agent = startAgent({
        ...settings,
        WINDLASS_URL: `https://windlass.test:${tls.port}`,
        WINDLASS_WORK_DIR: join(place.path, "proxied"),
      });
      await until(() => agent.log().includes("ready for jobs"));
      expect(tunnels).toContain(`windlass.test:${tls.port}`);
    }
    tunnels.length = 0;
    await using direct = startAgent({
      ...settings,
      NO_PROXY: "127.0.0.1",
      WINDLASS_URL: `https://127.0.0.1:${tls.port}`,
      WINDLASS_WORK_DIR: join(place.path, "direct"),
    });
    await until(() => direct.log().includes("ready for jobs"));
    expect(tunnels).toEqual([]);
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
});
