/** The team that a response names, in which later calls act. */
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { openApi } from "../../../cli/api/api.ts";
import { listen } from "../../helpers/network/listen.ts";

test.for([
  ["platform", "platform"],
  ["", ""],
  ["x;touch pwned;", undefined],
  ["Platform", undefined],
  ["a".repeat(41), undefined],
] as const)("of %j the client goes on in %j", async ([sent, team]) => {
  const teams: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    request.resume();
    teams.push(request.headers["windlass-team"] as string | undefined);
    response
      .writeHead(200, { "content-type": "application/json", "windlass-team": sent })
      .end('{"zones":[]}');
  });
  await using listening = await listen(server);
  const settings = { url: listening.url, token: "t", directory: "/nowhere", team: "other" };
  const api = openApi({ settings, server: undefined, profile: undefined });
  await api.call("listZones");
  await api.call("listZones");
  expect(api.team).toBe(team ?? "other");
  expect(teams[1] ?? "").toBe(team ?? "other");
});
