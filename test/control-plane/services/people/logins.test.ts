import { describe, expect, it } from "vitest";
import { day } from "../../../../common/units.ts";
import { pruneExpired } from "../../../../control-plane/services/people/logins.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { readRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addOwner, addRows } from "../../../helpers/plane/rows.ts";
import { bearer, openPerson, signIn } from "../../../helpers/people/sign-in.ts";

const { plane } = planeForFile();

describe("a user's logins", () => {
  it("are listed, and one that is ended is refused at once", async () => {
    const browser = await openPerson(plane);
    const tokens = await signIn(plane, browser);
    const console = callsOf(plane, browser.headers);
    const cli = callsOf(plane, bearer(tokens.access_token));
    const { logins } = await console.call("listLogins");
    expect(logins.map(({ kind, current }) => ({ kind, current }))).toEqual([
      { kind: "cli", current: false },
      { kind: "session", current: true },
    ]);
    await console.call("revokeLogin", { params: { id: logins[0]?.id ?? "" } });
    expect(await cli.refusal("listZones")).toBe("401 unauthenticated");
    const body = { refresh_token: tokens.refresh_token };
    expect(await cli.refusal("refreshTokens", { body })).toBe("401 invalid_refresh_token");
    expect((await console.call("listLogins")).logins).toHaveLength(1);
  });

  it("can be ended only by their user, and only once", async () => {
    const [mine, theirs] = [await openPerson(plane), await openPerson(plane)];
    const { logins } = await callsOf(plane, mine.headers).call("listLogins");
    const params = { id: logins[0]?.id ?? "" };
    const otherClient = callsOf(plane, theirs.headers);
    expect(await otherClient.refusal("revokeLogin", { params })).toBe("404 not_found");
    await callsOf(plane, mine.headers).call("revokeLogin", { params });
    expect(await callsOf(plane, mine.headers).refusal("listLogins")).toBe("401 unauthenticated");
  });
});

describe("pruning", () => {
  it("removes tokens and links that expired more than 30 days ago and keeps the others", async () => {
    const { store } = plane.context;
    const { id: owner_id } = await addOwner(store);
    const now = Date.now();
    const tokens = { old: now - 31 * day, lately: now - 29 * day, working: now + day };
    for (const [token_hash, expires_at] of Object.entries(tokens)) {
      const token = { token_hash, created_at: 1, expires_at };
      await addRows(store, "registration_tokens", {
        ...token,
        owner_id,
        uses_left: 1,
        ephemeral: 0,
      });
      await addRows(store, "login_links", { ...token, email: "a@example.com", used_at: null });
    }
    await pruneExpired(plane.context);
    const left = async (table: "registration_tokens" | "login_links") =>
      (await readRows(plane, table))
        .map(({ token_hash }) => token_hash)
        .filter((hash) => hash in tokens)
        .toSorted();
    expect(await left("registration_tokens")).toEqual(["lately", "working"]);
    expect(await left("login_links")).toEqual(["lately", "working"]);
  });
});
