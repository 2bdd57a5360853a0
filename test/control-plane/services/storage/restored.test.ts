/** The first start after a restore. */
import { expect, test } from "vitest";
import { settleRestore } from "../../../../control-plane/services/storage/restored.ts";
import { restorePending, setFact } from "../../../../control-plane/store/facts.ts";
import { openPerson } from "../../../helpers/people/sign-in.ts";
import { openTeam } from "../../../helpers/people/teams.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { readRow } from "../../../helpers/plane/plane.ts";

const { plane } = planeForFile();

test("ends every invitation that seems to be open: it may have been used or revoked since", async () => {
  const { context } = plane;
  const { admin, params, slug } = await openTeam(plane);
  const { link, id } = await admin.client.call("createInvitation", {
    params,
    body: { role: "admin", email: "grace@example.com" },
  });
  await context.store.write((tx) => setFact(tx, restorePending, new Date().toISOString()));
  expect(await settleRestore(context)).toBe(0);
  const grace = await openPerson(plane, "grace@example.com");
  const { pathname } = new URL(link);
  expect((await grace.page(pathname)).status).toBe(404);
  expect((await grace.post(pathname)).status).toBe(404);
  const back = await openPerson(plane, admin.email);
  const { members } = await back.client.call("listMembers", { params });
  expect(members.map(({ email }) => email)).toEqual([admin.email]);
  const { text } = await back.page(`/audit?team=${slug}&action=invitation.revoke`);
  expect(text).toContain("restored");
  const entry = await readRow(plane, "audit_entries", { action: "invitation.revoke" });
  expect(entry).toMatchObject({
    actor_kind: "system",
    target_id: id,
    target_name: "grace@example.com",
  });
});
