/** A real Keycloak with one realm, in memory, from the unpacked distribution that a variable names. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { freePort } from "../network/free-port.ts";
import { lackOfProgram } from "../project/tools.ts";

const distribution = process.env["KEYCLOAK_DIR"] ?? "";

/** Why tests that need it cannot run here; undefined if they can. */
export const lackOfKeycloak = !existsSync(join(distribution, "bin/kc.sh"))
  ? "needs a program that Maven installs: KEYCLOAK_DIR names no unpacked Keycloak"
  : lackOfProgram("java") === undefined
    ? undefined
    : "needs a program that Maven installs: java is not on the PATH";

export const clientSecret = "planted-client-secret";
const admin = { name: "admin", password: "planted-admin-password" };
/** Each has this password and the name as the first part of the address. */
export const passwordOf = (user: string): string => `planted-${user}`;

export interface KeycloakUser {
  readonly name: string;
  readonly isVerified: boolean;
  readonly groups: readonly string[];
}

export interface Keycloak extends AsyncDisposable {
  /** The issuer. */
  readonly realm: string;
  /** Calls the admin API of the realm. */
  change<T = void>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
  ): Promise<T>;
}

/** Starts it in a copy, because it writes into its own directory. Building itself is half of the time. */
export async function startKeycloak(
  folder: string,
  publicUrl: string,
  groups: readonly string[],
  users: readonly KeycloakUser[],
): Promise<Keycloak> {
  const home = join(folder, "keycloak");
  cpSync(distribution, home, { recursive: true });
  mkdirSync(join(home, "data/import"), { recursive: true });
  const realm = JSON.stringify(realmOf(publicUrl, groups, users));
  writeFileSync(join(home, "data/import/acme.json"), realm);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ["start-dev", "--db=dev-mem", "--cache=local", "--import-realm"];
  const address = ["--http-host=127.0.0.1", `--http-port=${port}`, `--hostname=${url}`];
  const server = spawn("bash", [join(home, "bin/kc.sh"), ...args, ...address], {
    stdio: "ignore",
    // Its launcher is a shell, which a signal would end without the server.
    detached: true,
    env: {
      ...process.env,
      JAVA_OPTS_KC_HEAP: "-Xmx512m",
      KC_BOOTSTRAP_ADMIN_USERNAME: admin.name,
      KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    },
  });
  const issuer = `${url}/realms/acme`;
  while (!(await isUp(`${issuer}/.well-known/openid-configuration`))) {
    if (server.exitCode !== null) throw new Error("Keycloak has ended");
    await sleep(200);
  }
  const form = { "content-type": "application/x-www-form-urlencoded" };
  return {
    realm: issuer,
    change: async (method, path, body) => {
      const grant = { grant_type: "password", client_id: "admin-cli" };
      const login = { ...grant, username: admin.name, password: admin.password };
      const token = await request(`${url}/realms/master/protocol/openid-connect/token`, {
        method: "POST",
        headers: form,
        body: new URLSearchParams(login).toString(),
      });
      const { access_token } = (await token.body.json()) as { access_token: string };
      const headers = { authorization: `Bearer ${access_token}` };
      const answer = await request(`${url}/admin/realms/acme${path}`, {
        method,
        headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.body.text();
      if (answer.statusCode >= 300)
        throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
      return (text === "" ? undefined : JSON.parse(text)) as never;
    },
    [Symbol.asyncDispose]: () => end(server),
  };
}

const isUp = async (url: string): Promise<boolean> => {
  try {
    const { statusCode, body } = await request(url);
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
};

async function end(server: ChildProcess): Promise<void> {
  const ended = once(server, "exit");
  if (server.pid !== undefined) process.kill(-server.pid, "SIGKILL");
  await ended;
}

const realmOf = (publicUrl: string, groups: readonly string[], users: readonly KeycloakUser[]) => ({
  realm: "acme",
  enabled: true,
  sslRequired: "none",
  groups: groups.map((name) => ({ name })),
  clients: [
    {
      clientId: "windlass",
      secret: clientSecret,
      enabled: true,
      protocol: "openid-connect",
      publicClient: false,
      standardFlowEnabled: true,
      redirectUris: [`${publicUrl}/*`],
      attributes: {
        "post.logout.redirect.uris": `${publicUrl}/login`,
        "backchannel.logout.session.required": "true",
      },
      protocolMappers: [
        {
          name: "groups",
          protocol: "openid-connect",
          protocolMapper: "oidc-group-membership-mapper",
          config: {
            "full.path": "true",
            "id.token.claim": "true",
            "access.token.claim": "false",
            "userinfo.token.claim": "false",
            "claim.name": "groups",
          },
        },
      ],
    },
  ],
  users: users.map(({ name, isVerified, groups: own }) => ({
    username: name,
    enabled: true,
    email: `${name}@example.com`,
    emailVerified: isVerified,
    firstName: name,
    lastName: "Example",
    credentials: [{ type: "password", value: passwordOf(name) }],
    groups: own.map((group) => `/${group}`),
  })),
});
