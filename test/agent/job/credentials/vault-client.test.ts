/** Vault is where the user says it is: its answers may be anything. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { VaultClient, VaultRefusedError } from "../../../../agent/job/credentials/vault-client.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { makeCertificate } from "../../../helpers/network/certificate.ts";
import { listen, type Listening } from "../../../helpers/network/listen.ts";

const place = folderForFile();
const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

interface Asked {
  readonly path: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

type Answer = (response: ServerResponse) => void;
const answers =
  (status: number, body: unknown, headers = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));

/** A server that gives this answer, and a client of it. */
async function vaultWith(answer: Answer, more: { namespace?: string; path?: string } = {}) {
  const asked: Asked[] = [];
  const server = await listen(
    createServer((request, response) => {
      void text(request).then((body) => {
        asked.push({ path: request.url, headers: request.headers, body: JSON.parse(body) });
        answer(response);
      });
    }),
  );
  open.push(server);
  return { asked, server, client: clientOf(server, more) };
}

function clientOf(
  { url }: Pick<Listening, "url">,
  { namespace, path = "", ca }: { namespace?: string; path?: string; ca?: string },
): VaultClient {
  const client = new VaultClient({ address: url + path, mount: "ci/jwt", namespace, ca }, {});
  open.push({ [Symbol.asyncDispose]: () => client.close() });
  return client;
}

const never = new AbortController().signal;
const auth = { client_token: "hvs.abc", lease_duration: 3600, renewable: true };
const failure = (given: Promise<unknown>): Promise<Error> =>
  given.then(
    () => new Error("it succeeded"),
    (error: unknown) => error as Error,
  );

test("the calls name mount, role and namespace, and the token is only in a header", async () => {
  const { client, asked } = await vaultWith(answers(200, { auth }), {
    namespace: "platform/live",
    path: "/behind/",
  });
  expect(await client.login("deploy", "ey.jwt", never)).toEqual({
    token: "hvs.abc",
    life: 3_600_000,
    isRenewable: true,
  });
  await client.renew("hvs.abc", never);
  await client.revoke("hvs.abc", never);
  expect(asked.map(({ path, body }) => [path, body])).toEqual([
    ["/behind/v1/auth/ci/jwt/login", { role: "deploy", jwt: "ey.jwt" }],
    ["/behind/v1/auth/token/renew-self", {}],
    ["/behind/v1/auth/token/revoke-self", {}],
  ]);
  for (const { headers } of asked)
    expect(headers).toMatchObject({
      "x-vault-namespace": "platform/live",
      "x-vault-request": "true",
    });
  expect(asked.map(({ headers }) => headers["x-vault-token"])).toEqual([
    undefined,
    "hvs.abc",
    "hvs.abc",
  ]);
});

test("a token without an end is renewed after days", async () => {
  const { client } = await vaultWith(answers(200, { auth: { ...auth, lease_duration: 0 } }));
  const { life } = await client.login("r", "j", never);
  expect(life).toBeGreaterThan(24 * 3_600_000);
});

describe("a refusal", () => {
  test.each([
    [
      400,
      { errors: ["error validating token:\n invalid audience", 7] },
      "400 error validating token: invalid audience; 7",
    ],
    [403, { errors: ["permission denied"] }, "403 permission denied"],
    [404, "<html>no</html>", "404"],
    [400, { errors: ["x".repeat(5000)] }, `400 ${"x".repeat(500)}`],
    [200, {}, "its response has no token: check that the address is Vault's"],
    [200, "null", "its response has no token: check that the address is Vault's"],
    [
      200,
      { auth: { client_token: "a b\n" } },
      "its response has no token: check that the address is Vault's",
    ],
    [200, "x".repeat(70_000), "it sent more than 65536 bytes"],
  ])("of status %i with %j says why", async (status, body, message) => {
    const { client } = await vaultWith(answers(status, body));
    const error = await failure(client.login("r", "ey.jwt", never));
    expect(error).toBeInstanceOf(VaultRefusedError);
    expect(error.message).toBe(message);
  });

  test("is what a redirect is, which is not followed", async () => {
    const other = await vaultWith(answers(200, { auth }));
    const { client } = await vaultWith(
      answers(307, "", { location: `${other.server.url}/v1/auth/ci/jwt/login` }),
    );
    const error = await failure(client.login("r", "ey.jwt", never));
    expect(error).toBeInstanceOf(VaultRefusedError);
    expect(error.message).toContain(`redirects to ${other.server.url}/v1/auth/ci/jwt/login: name`);
    expect(other.asked).toEqual([]);
  });
});

test.each([429, 412, 500, 503])("status %i passes", async (status) => {
  const { client } = await vaultWith(answers(status, { errors: ["Vault is sealed"] }));
  const error = await failure(client.login("r", "j", never));
  expect(error).not.toBeInstanceOf(VaultRefusedError);
  expect(error.message).toBe(`${status} Vault is sealed`);
});

test("a call ends with its signal, whether Vault is silent or sends without end", async () => {
  for (const answer of [
    () => {},
    (response: ServerResponse) => {
      response.writeHead(200);
      response.write("{");
    },
  ]) {
    const { client } = await vaultWith(answer);
    const started = performance.now();
    const error = await failure(client.login("r", "j", AbortSignal.timeout(200)));
    expect(error).not.toBeInstanceOf(VaultRefusedError);
    expect(performance.now() - started).toBeLessThan(5000);
  }
});

test("over https, its certificate must lead to the authority of the identity", async () => {
  const { tls } = makeCertificate(place);
  const server = await listen(
    createTlsServer(tls, (_, response) => answers(200, { auth })(response)),
  );
  open.push(server);
  const url = server.url.replace("http:", "https:");
  expect(await clientOf({ url }, { ca: tls.cert.toString() }).login("r", "j", never)).toMatchObject(
    { token: "hvs.abc" },
  );
  expect((await failure(clientOf({ url }, {}).login("r", "j", never))).message).toContain(
    "self-signed",
  );
});
