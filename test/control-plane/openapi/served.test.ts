/**
 * The OpenAPI document against a running server: it lists exactly the served routes and the
 * accepted credentials.
 */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { openApiDocument } from "../../../control-plane/openapi/document.ts";
import { version } from "../../../common/version.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  stateHeaders,
} from "../../helpers/plane/plane.ts";
import { addOwner, addSpec } from "../../helpers/plane/rows.ts";
import { openPerson } from "../../helpers/people/sign-in.ts";

type Security = readonly Record<string, readonly []>[];

/** Headers by the names of their security schemes. */
let credentials: Record<string, Record<string, string>>;
let spec: string;
const secret = "s".repeat(40);
const { plane, routes } = planeForFile({ RELEASE_API_SECRET: secret });
const paths = openApiDocument(version())["paths"] as Record<
  string,
  Record<string, { security: Security }>
>;

beforeAll(async () => {
  const { store } = plane.context;
  const owner = await addOwner(store);
  spec = await addSpec(store, owner);
  const worker = await addTestWorker(plane, owner);
  const job = await addHeldJob(plane, owner, worker, { spec_id: spec });
  const token = await ask(plane, "POST", "/api/cli/registration-tokens", {
    headers: await clientHeaders(plane, owner),
    json: {},
  });
  credentials = {
    accessToken: await clientHeaders(plane, owner),
    session: (await openPerson(plane)).headers,
    "workerId+workerToken": worker.headers,
    registrationToken: { "x-registration-token": String(token.json()["registration_token"]) },
    jobCredentials: { ...stateHeaders(plane, job) },
    releaseSecret: { authorization: `Bearer ${secret}` },
  };
});

it("is served in the running version", async () => {
  const { status, headers, json } = await ask(plane, "GET", "/openapi.json");
  expect(status).toBe(200);
  expect(headers["content-type"]).toContain("application/json");
  expect(json()).toEqual(JSON.parse(JSON.stringify(openApiDocument(version()))));
});

it("lists exactly the routes of the API and of operations", () => {
  const listed = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = routes
    .filter(({ url, endpoint }) => endpoint !== undefined || url.startsWith("/api/"))
    .filter(({ method }) => method !== "LOCK" && method !== "UNLOCK")
    .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, "{$1}")}`);
  expect(listed.toSorted()).toEqual([...new Set(served)].toSorted());
});

it("declares exactly the credentials that each route accepts", async () => {
  const wrong: string[] = [];
  let asked = 0;
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, { security }] of Object.entries(item)) {
      const declared = security.map((schemes) => Object.keys(schemes).join("+"));
      for (const [name, headers] of Object.entries({ nothing: {}, ...credentials })) {
        const isLetIn = await isNotRefused(method.toUpperCase(), path, headers);
        asked += 1;
        const isDeclared = declared.length === 0 || declared.includes(name);
        if (isLetIn !== isDeclared)
          wrong.push(`${method} ${path} ${isLetIn ? "lets in" : "refuses"} ${name}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(asked).toBeGreaterThan(400);
});

/** Sends unknown ids and an empty body, so that an accepted caller gets no further. */
async function isNotRefused(method: string, path: string, credential: Record<string, string>) {
  const of: Record<string, string> = { spec_id: spec, serial: "1" };
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => of[name] ?? randomUUID());
  const { status } = await ask(plane, method, url, { headers: credential });
  return status !== 401;
}
