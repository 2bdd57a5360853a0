import { expect, it } from "vitest";
import { pruneExpired } from "../../../../control-plane/services/people/prune.ts";
import { startPlane } from "../../../helpers/plane.ts";
import { addOwner } from "../../../helpers/rows.ts";

const day = 24 * 3600_000;

it("removes tokens and links that expired more than 30 days ago and keeps the others", async () => {
  const plane = await startPlane();
  const { store } = plane.context;
  const { id: owner_id } = await addOwner(store);
  const now = Date.now();
  const tokens = { old: now - 31 * day, lately: now - 29 * day, working: now + day };
  await store.write(async (tx) => {
    for (const [token_hash, expires_at] of Object.entries(tokens)) {
      await tx.sql
        .insertInto("registration_tokens")
        .values({ token_hash, owner_id, uses_left: 1, created_at: 1, expires_at })
        .execute();
      await tx.sql
        .insertInto("login_links")
        .values({ token_hash, email: "a@example.com", created_at: 1, expires_at, used_at: null })
        .execute();
    }
  });
  await pruneExpired(plane.context);
  const left = async (table: "registration_tokens" | "login_links") =>
    (await store.read.sql.selectFrom(table).select("token_hash").execute())
      .map(({ token_hash }) => token_hash)
      .toSorted();
  expect(await left("registration_tokens")).toEqual(["lately", "working"]);
  expect(await left("login_links")).toEqual(["lately", "working"]);
  await plane.close();
});
