/** The examples of the OpenAPI document, sent to a server: its page offers them to be tried. */
import { expect, test } from "vitest";
import { exampleOf } from "../../../control-plane/openapi/examples.ts";
import { ids } from "../../../control-plane/openapi/examples/example.ts";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import { endpoints } from "../../../protocol/endpoints.ts";
import { ask, clientHeaders } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { makeSpace } from "../../helpers/plane/role-space.ts";

const { plane } = planeForFile({
  WINDLASS_OIDC_ISSUER: "https://id.example.com/realms/acme",
  WINDLASS_OIDC_CLIENT_ID: "windlass",
  WINDLASS_OIDC_CLIENT_SECRET: "secret",
});

/** Statuses of a body that the server does not take; others are of what it names. */
const refused = new Set([400, 413, 415, 422]);

test("the example of each body that people send has nothing that the server refuses", async () => {
  const space = await makeSpace(plane, true);
  const headers = await clientHeaders(plane, space.admin.owner);
  const idIn = (url: string) => space.pathOf("GET", url).split("/").at(-1)!;
  const own: Record<string, string> = {
    [ids.zone]: idIn("/zones/:id"),
    [ids.worker]: idIn("/workers/:id"),
    [ids.identity]: idIn("/cloud-identities/:id"),
    [ids.connection]: idIn("/connections/:id"),
    [ids.plan]: idIn("/jobs/:id"),
    // The plan is one of it.
    [ids.configuration]: idIn("/configurations/:name"),
  };
  const withOwn = (text: string): string =>
    Object.entries(own).reduce((all, [from, to]) => all.replaceAll(from, to), text);
  const send = async ({ method, path, body }: Endpoint) => {
    const url = withOwn(
      path
        .replace("/configurations/{name}", `/configurations/${ids.configuration}`)
        .replace("/variable-sets/{id}", `/variable-sets/${ids.set}`)
        .replaceAll(/\{(\w+)\}/g, ":$1"),
    );
    const json = JSON.parse(withOwn(JSON.stringify(exampleOf(body!)))) as unknown;
    return ask(plane, method, space.pathOf(method, url), { headers, json });
  };
  expect((await send(endpoints.createJob)).status).toBe(409);
  // An update may leave out a value that the examples of these have.
  for (const [id, endpoint] of [
    [ids.configuration, endpoints.createConfiguration],
    [ids.set, endpoints.createVariableSet],
  ] as const) {
    const made = await send(endpoint);
    expect(made.status).toBe(201);
    own[id] = String(made.json()["id"]);
  }
  const said: string[] = [];
  let sent = 3;
  for (const [name, endpoint] of Object.entries(endpoints) as [string, Endpoint][]) {
    const isSent = ["createJob", "createConfiguration", "createVariableSet"].includes(name);
    if (endpoint.body === undefined || endpoint.caller !== "client" || isSent) continue;
    const response = await send(endpoint);
    sent++;
    if (refused.has(response.status) || response.status >= 500)
      said.push(`${name}: ${response.status} ${String(response.json()["detail"])}`);
  }
  expect(said).toEqual([]);
  expect(sent).toBeGreaterThan(20);
});
