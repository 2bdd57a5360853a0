/** A real agent behind a proxy, and with a certificate authority of its own. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAgent, until } from "../../helpers/agent/agent-process.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
} from "../../helpers/agent/interface-only-server.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";
import { serveTls, startConnectProxy } from "../../helpers/network/connect-proxy.ts";
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
const behindTls = () => serveTls(keys, plain.url);

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
  await using proxy = await startConnectProxy();
  // curl, git and terraform accept an address without a scheme too.
  const settings = { SSL_CERT_FILE: certificate, HTTPS_PROXY: `127.0.0.1:${proxy.port}` };
  {
    // Only the proxy can resolve this name.
    const WINDLASS_URL = `https://windlass.test:${tls.port}`;
    await using agent = agentIn("proxied", { ...settings, WINDLASS_URL });
    await until(() => agent.log().includes("ready for jobs"));
    expect(proxy.tunnels).toContain(`windlass.test:${tls.port}`);
  }
  proxy.tunnels.length = 0;
  const WINDLASS_URL = `https://127.0.0.1:${tls.port}`;
  await using direct = agentIn("direct", { ...settings, WINDLASS_URL, NO_PROXY: "127.0.0.1" });
  await until(() => direct.log().includes("ready for jobs"));
  expect(proxy.tunnels).toEqual([]);
});
