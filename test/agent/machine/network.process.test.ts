/** A real agent behind a proxy, and with a certificate authority of its own. */
import { createServer as createHttpServer, request } from "node:http";
import { createServer } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAgent, until } from "../../helpers/agent/agent-process.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
} from "../../helpers/agent/interface-only-server.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";
import { listen, type Listening } from "../../helpers/network/listen.ts";
import { makeCertificate } from "../../helpers/network/certificate.ts";

const place = folderForFile();
const { file: certificate, tls: keys } = makeCertificate(place, "windlass.test");
let plain: InterfaceOnlyServer;
beforeAll(async () => {
  plain = await startInterfaceOnlyServer();
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
});

const agentIn = (folder: string, settings: Record<string, string>) =>
  startAgent({ ...plain.settings, WINDLASS_WORK_DIR: join(place, folder), ...settings });

/** Serves the control plane over TLS with a self-signed certificate. */
function behindTls(): Promise<Listening> {
  const server = createServer(keys, (incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const forwarded = request(plain.url + url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  return listen(server);
}

test("a self-signed certificate is trusted only when SSL_CERT_FILE names it", async () => {
  await using tls = await behindTls();
  const WINDLASS_URL = `https://127.0.0.1:${tls.port}`;
  await using untrusting = agentIn("untrusting", { WINDLASS_URL });
  await until(() => untrusting.log().includes("from an unknown authority: set SSL_CERT_FILE"));
  expect(untrusting.log()).not.toContain("--use-system-ca");
  await using agent = agentIn("trusting", { WINDLASS_URL, SSL_CERT_FILE: certificate });
  await until(() => agent.log().includes("ready for jobs"));
});

test("the agent ends with 78 when SSL_CERT_FILE has no certificate", async () => {
  await using agent = agentIn("no-certificate", { SSL_CERT_FILE: join(place, "key.pem") });
  expect(await agent.exited).toBe(78);
  expect(agent.log()).toContain("SSL_CERT_FILE");
});

test("the agent ends with 78 for a wrong proxy address and does not print its password", async () => {
  await using agent = agentIn("no-proxy", { HTTPS_PROXY: "user:planted@proxy:port" });
  expect(await agent.exited).toBe(78);
  expect(agent.log()).toContain("HTTPS_PROXY is not a proxy address");
  expect(agent.log()).not.toContain("planted");
});

test("the agent reaches the control plane through the proxy unless NO_PROXY names it", async () => {
  await using tls = await behindTls();
  const tunnels: string[] = [];
  const proxy = createHttpServer().on(
    "connect",
    (incoming: { url?: string }, socket, head: Buffer) => {
      tunnels.push(incoming.url ?? "");
      const [, port] = (incoming.url ?? "").split(":");
      const upstream = connect(Number(port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.write(head);
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on("error", () => socket.destroy());
      socket.on("error", () => upstream.destroy());
    },
  );
  await using listening = await listen(proxy);
  // curl, git and terraform accept an address without a scheme too.
  const settings = { SSL_CERT_FILE: certificate, HTTPS_PROXY: `127.0.0.1:${listening.port}` };
  {
    // Only the proxy can resolve this name.
    const WINDLASS_URL = `https://windlass.test:${tls.port}`;
    await using agent = agentIn("proxied", { ...settings, WINDLASS_URL });
    await until(() => agent.log().includes("ready for jobs"));
    expect(tunnels).toContain(`windlass.test:${tls.port}`);
  }
  tunnels.length = 0;
  const WINDLASS_URL = `https://127.0.0.1:${tls.port}`;
  await using direct = agentIn("direct", { ...settings, WINDLASS_URL, NO_PROXY: "127.0.0.1" });
  await until(() => direct.log().includes("ready for jobs"));
  expect(tunnels).toEqual([]);
});
