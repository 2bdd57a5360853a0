/** A real OpenBao in memory, which speaks Vault's API, with a JWT method that trusts an issuer. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { freePort } from "../network/free-port.ts";
import { lackOfProgram } from "../project/tools.ts";

/** Why tests that need it cannot run here; undefined if they can. */
export const lackOfOpenBao = lackOfProgram("bao");

export interface OpenBao extends AsyncDisposable {
  readonly url: string;
  /** Calls its API as the operator. Returns the status and the body. */
  call(method: "GET" | "POST", path: string, body?: object): Promise<[number, unknown]>;
  /** Whether it still knows this token. */
  knows(token: string): Promise<boolean>;
}

const root = "root-of-the-test";

/** Starts it on a free port. */
export async function startOpenBao(): Promise<OpenBao> {
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), "bao-"));
  const address = `127.0.0.1:${port}`;
  const args = ["server", "-dev", `-dev-root-token-id=${root}`, "-dev-no-store-token"];
  const child = spawn("bao", [...args, `-dev-listen-address=${address}`], {
    env: { PATH: process.env["PATH"], HOME: home },
    stdio: "ignore",
  });
  const exited = once(child, "exit");
  const url = `http://${address}`;
  const bao: OpenBao = {
    url,
    async call(method, path, body) {
      const { statusCode, body: answer } = await request(`${url}/v1/${path}`, {
        method,
        headers: { "x-vault-token": root },
        body: body ? JSON.stringify(body) : null,
      });
      const text = await answer.text();
      return [statusCode, text === "" ? undefined : JSON.parse(text)];
    },
    knows: async (token) => (await bao.call("POST", "auth/token/lookup", { token }))[0] === 200,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
      rmSync(home, { recursive: true, force: true });
    },
  };
  while (!(await bao.call("GET", "sys/health").catch(() => undefined))) await sleep(50);
  return bao;
}

/** Makes one role for each phase, which may only read the secret of its own name. */
export async function trustIssuer(bao: OpenBao, issuer: string, ttl: string): Promise<void> {
  const calls: [path: string, body: object][] = [
    ["sys/auth/jwt", { type: "jwt" }],
    ["auth/jwt/config", { oidc_discovery_url: issuer, bound_issuer: issuer }],
    ...["plan", "apply"].flatMap((phase): [string, object][] => [
      [`secret/data/${phase}`, { data: { value: `the-secret-of-${phase}` } }],
      [
        `sys/policies/acl/${phase}`,
        { policy: `path "secret/data/${phase}" { capabilities = ["read"] }` },
      ],
      [
        `auth/jwt/role/${phase}`,
        {
          role_type: "jwt",
          user_claim: "sub",
          bound_audiences: [bao.url],
          bound_claims_type: "glob",
          bound_claims: { sub: `*:phase:${phase}` },
          token_policies: [phase],
          token_ttl: ttl,
        },
      ],
    ]),
  ];
  for (const [path, body] of calls) {
    const [status, answer] = await bao.call("POST", path, body);
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(answer)}`);
  }
}
