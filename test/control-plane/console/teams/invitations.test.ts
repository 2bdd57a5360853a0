import { describe, expect } from "vitest";
import { ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { newLink, openPerson, type Person } from "../../../helpers/people/sign-in.ts";
import { addTeam } from "../../../helpers/people/teams.ts";
import { addTestUser, type TestUser } from "../../../helpers/people/user.ts";

const { plane, it } = planeForFile();

/** The path of a new invitation's page. */
async function invite({ client }: TestUser, slug: string, email?: string): Promise<string> {
  const body = { role: "deployer", ...(email === undefined ? {} : { email }) } as const;
  const { link } = await client.call("createInvitation", { params: { slug }, body });
  return new URL(link).pathname;
}

async function makeTeam() {
  const admin = await addTestUser(plane);
  const { slug, params } = await addTeam(plane, admin);
  const membersOf = async () => (await admin.client.call("listMembers", { params })).members.length;
  return { admin, slug, membersOf };
}

const open = (path: string, { headers }: Person) => ask(plane, "GET", path, { headers });
const post = (path: string, { headers }: Person) => ask(plane, "POST", path, { headers });

describe("the page of an invitation", () => {
  it("shows team, role and inviter, and joins only by its form", async () => {
    const { admin, slug, membersOf } = await makeTeam();
    const path = await invite(admin, slug);
    const browser = await openPerson(plane);
    const page = await open(path, browser);
    expect(page.status).toBe(200);
    for (const text of ["Platform", "deployer", `${admin.owner.id}@example.com`, browser.email])
      expect(page.text).toContain(text);
    expect(await membersOf()).toBe(1);
    const foreign = { cookie: browser.headers.cookie, origin: "https://evil.example.com" };
    expect((await ask(plane, "POST", path, { headers: foreign })).status).toBe(403);
    const joined = await post(path, browser);
    expect([joined.status, joined.headers["location"]]).toEqual([303, `/?team=${slug}`]);
    expect(await membersOf()).toBe(2);
    expect((await open(`/zones?team=${slug}`, browser)).status).toBe(200);
    for (const again of [await open(path, browser), await post(path, await openPerson(plane))])
      expect(again.status).toBe(409);
    expect(await membersOf()).toBe(2);
  });

  it("asks who is not signed in to sign in first, and comes back", async () => {
    const { admin, slug } = await makeTeam();
    const path = await invite(admin, slug);
    const asked = await ask(plane, "GET", path);
    expect([asked.status, asked.headers["location"]]).toEqual([
      303,
      `/login?next=${encodeURIComponent(path)}`,
    ]);
    const login = await ask(plane, "GET", asked.headers["location"] as string);
    const [cookie = ""] = String(login.headers["set-cookie"]).split(";");
    const link = await newLink(plane, "grace@example.com");
    const opened = await ask(plane, "GET", link, { headers: { cookie } });
    expect(opened.headers["location"]).toBe(path);
  });

  it("is for one verified address if it has one", async () => {
    const { admin, slug, membersOf } = await makeTeam();
    const path = await invite(admin, slug, "Ada@Example.com");
    const other = await openPerson(plane);
    expect((await open(path, other)).text).toContain("This invitation is for");
    expect((await post(path, other)).status).toBe(403);
    expect(await membersOf()).toBe(1);
    const ada = await openPerson(plane, "ada@example.com");
    expect((await open(path, ada)).text).toContain("Only <strong>ada@example.com</strong> can");
    expect((await post(path, ada)).status).toBe(303);
    expect(await membersOf()).toBe(2);
  });

  it("does not use up the link of a member, nor work once it is revoked or expired", async () => {
    const { admin, slug } = await makeTeam();
    const browser = await openPerson(plane);
    await post(await invite(admin, slug), browser);
    const second = await invite(admin, slug);
    expect((await open(second, browser)).text).toContain("a member of this team already");
    expect((await post(second, browser)).status).toBe(303);
    const { invitations } = await admin.client.call("listInvitations", { params: { slug } });
    expect(invitations).toHaveLength(1);
    const id = invitations[0]?.id ?? "";
    await admin.client.call("revokeInvitation", { params: { slug, id } });
    expect((await open(second, browser)).status).toBe(404);
  });

  it("lets one of two join who use it at once", async () => {
    const { admin, slug, membersOf } = await makeTeam();
    const path = await invite(admin, slug);
    const both = await Promise.all([openPerson(plane), openPerson(plane)]);
    const statuses = await Promise.all(
      both.map(async (browser) => (await post(path, browser)).status),
    );
    expect(statuses.toSorted((a, b) => a - b)).toEqual([303, 409]);
    expect(await membersOf()).toBe(2);
  });
});
