import { describe, expect, it } from "vitest";
import { endpoints } from "../../../../protocol/endpoints.ts";
import { callsOf } from "../../../helpers/calls.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { bearer, openBrowser, signIn } from "../../../helpers/sign-in.ts";

const { listLogins, listZones, refreshTokens, revokeLogin } = endpoints;

const { plane } = planeForFile();

describe("a user's logins", () => {
  it("are listed, and one that is ended is refused at once", async () => {
    const browser = await openBrowser(plane);
    const tokens = await signIn(plane, browser);
    const console = callsOf(plane, browser.headers);
    const cli = callsOf(plane, bearer(tokens.access_token));
    const { logins } = await console.get(listLogins, { query: {} });
    expect(logins.map(({ kind, current }) => ({ kind, current }))).toEqual([
      { kind: "cli", current: false },
      { kind: "session", current: true },
    ]);
    await console.ask(revokeLogin, { params: { id: logins[0]?.id ?? "" } });
    expect(await cli.refusal(listZones, { query: {} })).toBe("401 unauthenticated");
    const body = { refresh_token: tokens.refresh_token };
    expect(await cli.refusal(refreshTokens, { body })).toBe("401 invalid_refresh_token");
    expect((await console.get(listLogins, { query: {} })).logins).toHaveLength(1);
  });

  it("can be ended only by their user, and only once", async () => {
    const [mine, theirs] = [await openBrowser(plane), await openBrowser(plane)];
    const { logins } = await callsOf(plane, mine.headers).get(listLogins, { query: {} });
    const params = { id: logins[0]?.id ?? "" };
    const otherClient = callsOf(plane, theirs.headers);
    expect(await otherClient.refusal(revokeLogin, { params })).toBe("404 not_found");
    await callsOf(plane, mine.headers).ask(revokeLogin, { params });
    expect(await callsOf(plane, mine.headers).refusal(listLogins, { query: {} })).toBe(
      "401 unauthenticated",
    );
  });
});
