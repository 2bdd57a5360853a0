/**
 * Sends secrets of every kind through the whole life of a real server process, also to wrong
 * places, and then searches for them everywhere, in clear and in usual encodings. Two places do not
 * count. The operator passes settings in the environment, so they are in the server's own
 * `/proc/PID/environ`. And a refusal may repeat to the sender what the same request put in a wrong
 * place, because no other caller sees that.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ask, type TestResponse, type Plane } from "../helpers/plane/plane.ts";
import { startPlainProvider, TestBrowser, type FakeProvider } from "../helpers/people/providers.ts";
import { newLink, spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";
import { cookieOf } from "../helpers/people/sign-in.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

/**
 * The secrets by name. Each is unique and, except for the six-character code, too long to occur by
 * chance.
 */
const planted = new Map<string, string>();
const plant = (
  name: string,
  value: string = `${name.replaceAll(" ", "-")}.${randomBytes(24).toString("hex")}`,
) => {
  planted.set(name, value);
  return value;
};
/** The responses: `own` names the secrets that the caller may see in this response. */
const answers: { name: string; text: string; own: readonly string[] }[] = [];

const settings = {
  CLI_JWT_SECRET: plant("CLI_JWT_SECRET"),
  RELEASE_API_SECRET: plant("RELEASE_API_SECRET"),
  WINDLASS_SECRET_KEY: plant("WINDLASS_SECRET_KEY"),
  GITHUB_CLIENT_ID: "client",
  GITHUB_CLIENT_SECRET: plant("GITHUB_CLIENT_SECRET"),
  WINDLASS_LOG_LEVEL: "trace",
  WINDLASS_SIGN_IN_ALLOW: "*",
};
const directory = folderForFile();
let github: FakeProvider;
let server: ServerProcess;
let plane: Plane;

beforeAll(async () => {
  github = await startPlainProvider("github");
  server = spawnServer(directory, { ...settings, GITHUB_BASE_URL: github.url });
  plane = { url: await server.ready } as Plane;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await github.close();
});

interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** The names of secrets that the response may contain. */
  readonly own?: readonly string[];
  /** Absent: any 2xx. */
  readonly status?: number;
}

/** Calls the server and keeps the response for the search. */
async function call(method: string, path: string, sent: Sent = {}): Promise<TestResponse> {
  const { headers = {}, body, own = [] } = sent;
  const isBytes = Buffer.isBuffer(body);
  const type = isBytes ? "application/octet-stream" : "application/json";
  const answer = await ask(plane, method, path, {
    headers: { ...(body === undefined ? {} : { "content-type": type }), ...headers },
    ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
  });
  const name = `${method} ${path.slice(0, 60)}: ${answer.status}`;
  if (sent.status === undefined ? answer.status >= 400 : answer.status !== sent.status)
    throw new Error(`${name} ${answer.text}`);
  const set = JSON.stringify(answer.headers);
  answers.push({ name, text: `${set}\n${answer.body.toString("latin1")}`, own });
  return answer;
}

it("no planted secret is found where it must not be", async () => {
  const { cookie, person } = await people();
  const { worker, state, spec } = await work(person);
  await misplaced(person);
  for (const path of ["/metrics", "/healthz", "/readyz", "/openapi.json", "/login"])
    await call("GET", path);
  for (const path of ["/api/jobs", "/api/cli/zones", "/api/cli/configurations", "/api/cli/workers"])
    await call("GET", path, { headers: person });
  for (const path of ["/api/cli/logins", `/api/cli/configurations/${spec}/state/versions`])
    await call("GET", path, { headers: person });
  for (const path of ["/", "/jobs", "/workers", "/audit", "/settings"])
    await call("GET", path, { headers: { cookie }, own: ["session"], status: 200 });
  await call("GET", `/api/workers/${worker["x-worker-id"]}`, { headers: worker });
  await call("GET", `/api/state/${spec}`, { headers: state, status: 401 });

  const places = new Map<string, Buffer>();
  for (const [file, bytes] of await files()) places.set(file, bytes);
  for (const what of ["environ", "cmdline"]) places.set(`/proc ${what}`, await processText(what));
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  for (const [file, bytes] of await files()) places.set(`${file} after the end`, bytes);
  places.set("log", Buffer.from(server.log()));
  expect([...places.keys()].some((place) => place.includes(".db"))).toBe(true);
  expect(server.log()).toContain('"/api/state/:spec_id"');

  const found: string[] = [];
  for (const [name, secret] of planted)
    for (const form of formsOf(secret)) {
      for (const [place, bytes] of places)
        if (bytes.includes(form)) found.push(`${name} in ${place} as ${form.slice(0, 16)}`);
      for (const { name: answer, text, own } of answers)
        if (!own.includes(name) && text.includes(form)) found.push(`${name} in ${answer}`);
    }
  process.stdout.write(
    `${planted.size} secrets, ${places.size} places, ${answers.length} answers: ${found.length} found\n`,
  );
  expect(found).toEqual([]);
  // The search works: the name of the zone is not a secret and is found in the database.
  const forms = formsOf("a zone to be found");
  expect(
    [...places].some(([place, bytes]) => place.includes(".db") && bytes.includes(forms[0]!)),
  ).toBe(true);
});

it("the search finds a secret in each of its encodings at any offset", () => {
  const secret = randomUUID();
  const forms = formsOf(secret);
  for (const before of ["", "a", "ab", "abc"])
    for (const encoding of ["utf8", "base64", "base64url", "hex"] as const) {
      const text = Buffer.from(`${before}${secret}behind`).toString(encoding);
      expect(forms.some((form) => text.includes(form))).toBe(true);
    }
  const odd = "a/b+c d".repeat(4);
  expect(formsOf(odd)).toContain(encodeURIComponent(odd));
});

/**
 * The secret in clear, URL-encoded, in hex, and in base64 at each of its three offsets, without the
 * characters that depend on the neighbours.
 */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const base64 = [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const inner = text.slice(
      offset === 0 ? 0 : offset + 1,
      (offset + bytes.length) % 3 === 0 ? undefined : -1,
    );
    return [inner, inner.replaceAll("+", "-").replaceAll("/", "_")];
  });
  // Encodings of six characters occur by chance.
  const encoded = bytes.length < 16 ? [] : [hex, hex.toUpperCase(), ...base64];
  return [...new Set([secret, encodeURIComponent(secret), ...encoded])];
}

/** Signs in through the provider, by a link and from a client, and plants every credential. */
async function people() {
  const link = await newLink(directory);
  plant("link", link.split("/").at(-1));
  const opened = await call("GET", link, { own: ["link", "link session"] });
  plant("link session", cookieOf(opened)?.split("=")[1]);
  const browser = new TestBrowser();
  await browser.visit(`${plane.url}/api/auth/login/github`, (url) => url === `${plane.url}/`);
  const jar = browser.jars.get(new URL(plane.url).host) ?? new Map<string, string>();
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  plant("session", jar.get("windlass_session"));
  const device_code = randomUUID();
  const generated = await call("POST", "/api/auth/cli/generate", {
    headers: { cookie, origin: plane.url },
    body: { device_code },
    own: ["verification code", "session"],
  });
  const verification_code = plant(
    "verification code",
    String(generated.json()["verification_code"]),
  );
  const all = ["access token", "refresh token", "provider token"];
  const exchanged = (
    await call("POST", "/api/auth/cli/exchange", {
      body: { device_code, verification_code },
      own: all,
    })
  ).json();
  plant("access token", String(exchanged["access_token"]));
  plant("refresh token", String(exchanged["refresh_token"]));
  plant("provider token", String(exchanged["provider_token"]));
  expect(planted.get("provider token")).toMatch(/^ey/);
  const refreshed = (
    await call("POST", "/api/auth/cli/refresh", {
      body: { refresh_token: exchanged["refresh_token"] },
      own: ["second access token", "second refresh token"],
    })
  ).json();
  const access = plant("second access token", String(refreshed["access_token"]));
  plant("second refresh token", String(refreshed["refresh_token"]));
  return { cookie, person: { authorization: `Bearer ${access}` } };
}

/**
 * Creates a configuration with secrets and workers of each kind, and runs a job from its claim to
 * its end.
 */
async function work(headers: Record<string, string>) {
  const zone = (
    await call("POST", "/api/cli/zones", { headers, body: { name: "a zone to be found" } })
  ).json();
  // The server checks only the first two bytes of a gzip file.
  const source = Buffer.concat([Buffer.of(0x1f, 0x8b), Buffer.from(plant("archive content"))]);
  await call("POST", "/api/cli/archives", { headers, body: source });
  const sensitive = {
    text: { value: plant("sensitive variable"), sensitive: true },
    deep: { value: { list: [{ key: plant("sensitive value deep inside") }] }, sensitive: true },
  };
  const spec = String(
    (
      await call("POST", "/api/cli/configurations", {
        headers,
        body: {
          name: "configuration",
          zone_id: zone["id"],
          source: { type: "archive", sha256: createHash("sha256").update(source).digest("hex") },
          variables: sensitive,
        },
      })
    ).json()["id"],
  );
  await call("PATCH", `/api/cli/configurations/${spec}`, {
    headers,
    body: {
      variables: { ...sensitive, later: { value: plant("updated variable"), sensitive: true } },
    },
  });
  await call("POST", "/api/cli/variable-sets", {
    headers,
    body: {
      name: "set",
      variables: { shared: { value: plant("variable of a set"), sensitive: true } },
      environment: { SHARED_TOKEN: plant("environment of a set") },
      configuration_ids: [spec],
    },
  });
  await call("GET", "/api/cli/variable-sets", { headers });
  const registration = (
    await call("POST", "/api/cli/registration-tokens", {
      headers,
      body: {},
      own: ["registration token"],
    })
  ).json();
  const token = plant("registration token", String(registration["registration_token"]));
  const worker = await identity("worker token", "/api/workers/register", {
    "x-registration-token": token,
  });
  const second = await identity("second worker token", "/api/cli/workers", headers);
  const rotated = await call("POST", `/api/cli/workers/${second["x-worker-id"]}/rotate-token`, {
    headers,
    own: ["rotated worker token"],
  });
  plant("rotated worker token", String(rotated.json()["worker_token"]));
  await identity("cloud worker token", "/api/runners/register", {
    authorization: `Bearer ${settings.RELEASE_API_SECRET}`,
  });

  await call("POST", "/api/workers/heartbeat", { headers: worker, body: { version: "1.0.0" } });
  await call("POST", "/api/jobs", { headers, body: { job_type: "PLAN", configuration_id: spec } });
  const variables = [
    "sensitive variable",
    "sensitive value deep inside",
    "updated variable",
    "variable of a set",
    "environment of a set",
  ];
  const claimed = (
    await call("POST", "/api/jobs/claim", { headers: worker, own: [...variables, "job token"] })
  ).json() as unknown as { job: { id: string; job_token: string } };
  const { id, job_token } = claimed.job;
  plant("job token", job_token);
  const state = { authorization: `Basic ${Buffer.from(`${id}:${job_token}`).toString("base64")}` };
  const report = (body: object) => call("PUT", `/api/jobs/${id}/status`, { headers: worker, body });
  await report({ status: "PROCESSING" });
  await call("GET", `/api/jobs/${id}/source`, { headers: worker, own: ["archive content"] });
  await call("POST", `/api/jobs/${id}/logs`, {
    headers: worker,
    body: { log_chunk: "a line\n", stream_type: "STDOUT", seq: 1 },
  });
  await call("LOCK", `/api/state/${spec}`, { headers: state, body: { ID: "lock" } });
  const content = {
    version: 4,
    serial: 1,
    lineage: randomUUID(),
    outputs: { x: { value: plant("state content") } },
    resources: [],
  };
  await call("POST", `/api/state/${spec}?ID=lock`, { headers: state, body: content });
  await call("GET", `/api/state/${spec}`, { headers: state, own: ["state content"] });
  await call("UNLOCK", `/api/state/${spec}`, { headers: state, body: { ID: "lock" } });
  await call("GET", `/api/cli/configurations/${spec}/state/versions/1`, {
    headers,
    own: ["state content"],
  });
  const artifact = `/api/jobs/${id}/plan-artifact`;
  await call("POST", artifact, { headers: worker, body: Buffer.from(plant("plan artifact")) });
  await call("GET", artifact, { headers: worker, own: ["plan artifact"] });
  await report({ status: "SUCCESS", last_seq: 1 });
  await call("GET", `/api/cli/jobs/${id}`, { headers });
  return { worker, state, spec };
}

async function identity(name: string, path: string, headers: Record<string, string>) {
  const made = (
    await call("POST", path, { headers, body: { name: "worker" }, own: [name] })
  ).json();
  return {
    "x-worker-id": String(made["worker_id"]),
    "x-worker-token": plant(name, String(made["worker_token"])),
  };
}

/**
 * Sends every secret to places where a user might put it by mistake. The refusal may repeat it, and
 * nothing may store it.
 */
async function misplaced(person: Record<string, string>) {
  for (const [name, secret] of planted) {
    const text = encodeURIComponent(secret);
    const wrong = (method: string, path: string, sent: Sent = {}) =>
      askOnly(method, path, { ...sent, own: [name] });
    await wrong("GET", `/api/jobs?limit=x&token=${text}`, { headers: person });
    await wrong("GET", `/api/jobs?cursor=${text}`, { headers: person });
    await wrong("GET", `/api/cli/jobs/${text}`, { headers: person });
    await wrong("GET", `/nowhere/${text}?token=${text}`);
    await wrong("GET", `/login/link/${text}x`);
    await wrong("GET", `/api/auth/callback?code=${text}&state=${text}`);
    await wrong("GET", `/api/jobs?x=%zz${text}`);
    await wrong("GET", `/api/cli/zones/%zz${text}`);
    await wrong("POST", "/api/cli/zones", { headers: person, body: { name: `\u0000${secret}` } });
    await wrong("POST", "/api/cli/zones", {
      headers: person,
      body: { name: "z", [secret]: secret },
    });
    await wrong("POST", "/api/auth/cli/exchange", {
      body: { device_code: secret, verification_code: secret },
    });
    await wrong("POST", "/api/auth/cli/refresh", { body: { refresh_token: `${secret}x` } });
    await wrong("GET", "/api/jobs", { headers: { authorization: `Token ${secret}x` } });
    await wrong("POST", "/api/jobs/claim", {
      headers: { "x-worker-id": secret, "x-worker-token": `${secret}x` },
    });
    await wrong("POST", "/api/workers/register", {
      headers: { "x-registration-token": `${secret}x` },
      body: { name: "w" },
    });
    await wrong("POST", "/api/releases/worker", {
      headers: { authorization: `Bearer ${secret}x` },
      body: {},
    });
  }
}

/** Sends a request that must be refused. */
async function askOnly(method: string, path: string, sent: Sent): Promise<void> {
  const answer = await ask(plane, method, path, {
    headers: { "content-type": "application/json", ...sent.headers },
    ...(sent.body === undefined ? {} : { body: JSON.stringify(sent.body) }),
  });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
  const text = `${JSON.stringify(answer.headers)}\n${answer.body.toString("latin1")}`;
  answers.push({ name: `${method} ${path.slice(0, 30)}`, text, own: sent.own ?? [] });
}

async function files(): Promise<[string, Buffer][]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(
    names.map(async (name): Promise<[string, Buffer]> => [name, await readFile(name)]),
  );
}

/** What the kernel shows of the process, without the settings that the operator passed. */
async function processText(what: string): Promise<Buffer> {
  const text = await readFile(`/proc/${server.pid}/${what}`, "latin1");
  const kept = text.split("\0").filter((entry) => {
    const [name = "", ...value] = entry.split("=");
    return settings[name as keyof typeof settings] !== value.join("=");
  });
  return Buffer.from(kept.join("\0"), "latin1");
}
