/** A body that stalls before or after the response, on every route, over raw sockets. */
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { insertMember } from "../../control-plane/store/teams/members.ts";
import { findTeamBySlug } from "../../control-plane/store/teams/teams.ts";
import type { Caller } from "../../protocol/endpoint.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  stateHeaders,
} from "../helpers/plane/plane.ts";
import { addOwner, addSpec } from "../helpers/plane/rows.ts";
import { type ServedRoute } from "../helpers/plane/routes.ts";
import { openPerson } from "../helpers/people/sign-in.ts";

const secret = "s".repeat(40);
/** Long enough for a response that is due at once, even on a busy machine. */
const patienceSeconds = 2;
const id = "0198c0de-0000-7000-8000-000000000000";

const { plane, routes } = planeForFile({
  WINDLASS_REQUEST_SECONDS: String(patienceSeconds),
  RELEASE_API_SECRET: secret,
});
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);

beforeAll(() => void process.on("uncaughtExceptionMonitor", note));
afterAll(() => void process.off("uncaughtExceptionMonitor", note));

interface Stalled {
  readonly status: number;
  readonly text: string;
  /** Whether the server closed the connection before the test. */
  readonly closed: boolean;
}

/**
 * Sends the head of a request and no byte of its body. Resolves with the response, or with
 * `untilClosed` when the server closes the connection.
 */
function stall(
  method: string,
  path: string,
  headers: Record<string, string>,
  { untilClosed = false } = {},
): Promise<Stalled> {
  const { hostname, port } = new URL(plane.url);
  const lines = Object.entries({ host: "x", "content-length": "100", ...headers });
  const head = `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return new Promise((resolve) => {
    let text = "";
    const socket: Socket = connect(Number(port), hostname, () => socket.write(head));
    const end = (closed: boolean) => {
      socket.destroy();
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text, closed });
    };
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (!untilClosed && text.includes("\r\n\r\n")) end(false);
    });
    socket.on("error", () => end(true)).on("close", () => end(true));
  });
}

const json = { "content-type": "application/json" };
const pathOf = (url: string): string => url.replace(/:\w+|\*/g, id);
const isForm = ({ endpoint }: ServedRoute): boolean => endpoint === undefined;
const typeOf = (route: ServedRoute): Record<string, string> => ({
  "content-type": isForm(route) ? "application/x-www-form-urlencoded" : "application/json",
});
const nameOf = ({ method, url }: ServedRoute): string => `${method} ${url}`;

describe("a request whose body never arrives", () => {
  it("is refused before its body on every route that needs a credential", async () => {
    const guarded = routes.filter(
      ({ method, endpoint }) => method !== "GET" && endpoint?.caller !== "anyone",
    );
    expect(guarded.length).toBeGreaterThan(50);
    const answers = await Promise.all(
      guarded.map(async (route) => {
        const { status, text } = await stall(route.method, pathOf(route.url), typeOf(route));
        const isRefusal = isForm(route)
          ? status === 303 && /^location: \/login\r$/im.test(text)
          : status === 401;
        // The rest of the body is not read, so the connection ends with the response.
        return isRefusal && /^connection: close\r$/im.test(text) ? [] : [nameOf(route), status];
      }),
    );
    expect(answers.flat()).toEqual([]);
  });

  it("gets its response and its connection is closed in time, whatever its fault", async () => {
    const odd: [string, string, Record<string, string>][] = [
      ["POST", "/nowhere", json],
      ["POST", "/api/auth/cli/exchange", { "content-type": "text/plain" }],
      ["POST", "/api/auth/cli/exchange", json],
      ["POST", "/api/auth/cli/exchange", { ...json, "content-length": "99999999" }],
      ["PUT", "/login", { "content-type": "application/x-www-form-urlencoded" }],
      ["GET", "/healthz", json],
      ["GET", "/api/cli/zones", {}],
    ];
    const answers = await Promise.all(
      odd.map(([method, path, headers]) => stall(method, path, headers, { untilClosed: true })),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 415, 408, 413, 405, 200, 401]);
    expect(answers.every(({ closed }) => closed)).toBe(true);
    expect(uncaught).toEqual([]);
  });

  it("gets exactly one response with a credential: 408 if the route needs a body", async () => {
    const { store } = plane.context;
    const owner = await addOwner(store);
    const worker = await addTestWorker(plane, owner);
    const held = await addHeldJob(plane, owner, worker, { spec_id: await addSpec(store, owner) });
    const client = await clientHeaders(plane, owner);
    const job = { ...stateHeaders(plane, held) };
    const browser = await openPerson(plane);
    // Both are admins of the team that the addresses name.
    await callsOf(plane, browser.headers).call("createTeam", {
      body: { name: "Platform", slug: id },
    });
    await store.write(async (tx) => {
      const team = await tx.first(findTeamBySlug, { slug: id });
      const member = {
        user_id: owner.id,
        role: "admin" as const,
        zones: "{}",
        joined_at: 1,
        invited_by: null,
        invited_role: "admin" as const,
        invited_zones: "{}",
        group_role: null,
        group_zones: "{}",
        group_names: "[]",
      };
      await insertMember(tx, { space_id: team?.id ?? "", ...member });
    });
    const credentials: Record<Caller, Record<string, string>> = {
      anyone: {},
      session: browser.headers,
      client,
      worker: worker.headers,
      registrant: client,
      job,
      pipeline: { authorization: `Bearer ${secret}` },
    };
    const written = routes.filter(({ method }) => method !== "GET");
    const answers = await Promise.all(
      written.map(async (route) => {
        const { endpoint } = route;
        // An upload has one minute for each part.
        if (endpoint?.bytes === "request") return [];
        const headers = { ...credentials[endpoint?.caller ?? "session"], ...typeOf(route) };
        const { status, text } = await stall(route.method, pathOf(route.url), headers, {
          untilClosed: endpoint === undefined || endpoint.body !== undefined,
        });
        const needsBody = endpoint === undefined || endpoint.body !== undefined;
        const isRight = needsBody ? status === 408 : status !== 408 && status > 0;
        const isAnsweredOnce = text.split("HTTP/1.1 ").length === 2;
        return isRight && isAnsweredOnce ? [] : [nameOf(route), status];
      }),
    );
    expect(answers.flat()).toEqual([]);
    expect(uncaught).toEqual([]);
    expect((await ask(plane, "GET", "/healthz")).status).toBe(200);
  });
});
