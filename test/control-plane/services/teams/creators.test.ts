/** WINDLASS_TEAM_CREATORS. */
import { expect, test } from "vitest";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { submit, words } from "../../../helpers/console/forms.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { bearer, openPerson, signIn } from "../../../helpers/people/sign-in.ts";
import { newSlug } from "../../../helpers/people/teams.ts";

const { plane } = planeForFile({ WINDLASS_TEAM_CREATORS: "Grace@example.com, @ops.example.com" });

/** Signs in by a link of the operator, and tries to create a team by the client and in the console. */
async function tryAs(email: string) {
  const browser = await openPerson(plane, email);
  const client = callsOf(plane, bearer((await signIn(plane, browser)).access_token));
  const byClient = await client.refusal("createTeam", { body: { name: "A", slug: newSlug() } });
  const page = await browser.post("/teams", { name: "B", slug: newSlug() });
  return { browser, client, byClient, page };
}

test("the first user of an operator's link creates teams, although the setting does not name them", async () => {
  const { client, byClient, page } = await tryAs("first@example.com");
  expect([byClient, page.status]).toEqual(["not refused", 303]);
  // Whom they invite joins without being a creator.
  const slug = newSlug();
  await client.call("createTeam", { body: { name: "Platform", slug } });
  const { link } = await client.call("createInvitation", {
    params: { slug },
    body: { role: "admin" },
  });
  const invited = await tryAs("invited@example.com");
  expect(invited.byClient).toBe("403 permission_denied");
  const joined = await submit(plane, new URL(link).pathname, {}, invited.browser.headers);
  expect(joined.status).toBe(303);
  expect(await invited.client.call("getTeam", { params: { slug } })).toMatchObject({
    role: "admin",
  });
  expect(await invited.client.refusal("createTeam", { body: { name: "C" } })).toBe(
    "403 permission_denied",
  );
});

test.each(["grace@EXAMPLE.com", "ada@ops.example.com", "Ada@OPS.example.com"])(
  "%s creates teams by the setting",
  async (email) => {
    const { byClient, page } = await tryAs(email);
    expect([byClient, page.status]).toEqual(["not refused", 303]);
  },
);

test.each([
  "eve@example.com",
  "grace@example.com.evil.example",
  "eve@evil-ops.example.com",
  "eve@sub.ops.example.com",
  "\u212Aay@ops.example.co\u217F",
])("%s does not, and is told which setting decides", async (email) => {
  const { byClient, page } = await tryAs(email);
  expect(byClient).toBe("403 permission_denied");
  expect(page.status).toBe(403);
  expect(words(page)).toContain("WINDLASS_TEAM_CREATORS");
});
