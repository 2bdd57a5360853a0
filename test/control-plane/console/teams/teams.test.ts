import { expect, test } from "vitest";
import { roles, type Role } from "../../../../protocol/roles.ts";
import { dom, words } from "../../../helpers/console/forms.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addState } from "../../../helpers/plane/rows.ts";
import { openPerson } from "../../../helpers/people/sign-in.ts";
import { addPerson, join, newSlug, openTeam } from "../../../helpers/people/teams.ts";

const { plane } = planeForFile();

/** The buttons of a page that are off, by what they say. */
const offOn = (text: string): string[] =>
  dom(text)
    .querySelectorAll("button[disabled][title]")
    .map((button) => `${words(button).trim()}: ${button.getAttribute("title")}`);

test("a team is made, renamed and deleted on its pages", async () => {
  const { page, post } = await openPerson(plane);
  expect(words(await page("/teams"))).toContain("You are in no team yet");
  const slug = newSlug();
  const refused = await post("/teams", { name: "Platform", slug: "No slug" });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('value="No slug"');
  const made = await post("/teams", { name: "Platform & Data", slug });
  expect([made.status, made.headers["location"]]).toEqual([303, `/teams/${slug}`]);
  expect((await page("/teams")).text).toContain(`<a href="/teams/${slug}">Platform &amp; Data</a>`);
  const after = newSlug();
  await post(`/teams/${slug}`, { name: "Platform", slug: after });
  expect((await page(`/teams/${slug}`)).status).toBe(404);
  expect(words(await page(`/teams/${after}`))).toContain("Your role is admin");
  const unconfirmed = await post(`/teams/${after}/delete`, { confirm: slug });
  expect([unconfirmed.status, words(unconfirmed)]).toEqual([
    400,
    expect.stringContaining("The slug that you typed is not the team's"),
  ]);
  const deleted = await post(`/teams/${after}/delete`, { confirm: after });
  expect([deleted.status, deleted.headers["location"]]).toEqual([303, "/teams?team="]);
  expect(words(await page("/teams"))).toContain("You are in no team yet");
});

test("the team in the address of a list is no filter that is ignored", async () => {
  const { admin, slug } = await openTeam(plane);
  const lists = ["/", "/zones", "/workers", "/identities", "/variable-sets", "/audit", "/settings"];
  for (const list of [
    ...lists,
    "/jobs",
    "/search",
    "/jobs?status=SUCCESS",
    "/jobs?configuration=",
  ]) {
    const { status, text } = await admin.page(
      `${list}${list.includes("?") ? "&" : "?"}team=${slug}`,
    );
    expect([list, status, text.includes("ignored")]).toEqual([list, 200, false]);
  }
  const said = words(await admin.page(`/jobs?team=${slug}&status=DONE`));
  expect(said).toContain("which is ignored: status=DONE");
  expect(said).not.toContain("team=");
});

test("the page of a team invites, changes roles and removes members", async () => {
  const team = await openTeam(plane);
  const { admin, path } = team;
  const invited = await admin.post(`${path}/invitations`, {
    role: "planner",
    email: "grace@example.com",
  });
  expect(invited.headers["cache-control"]).toContain("no-store");
  const [link] = /http[^<]*\/invitations\/[\w-]+/.exec(invited.text) ?? [];
  expect(words(invited)).toContain("Send this link to grace@example.com");
  expect(words(invited)).toMatch(/ Teams \/ \S/);
  const listed = (await admin.page(path)).text;
  expect(listed).not.toContain(link);
  const revoke = /action="([^"]*\/invitations\/[\w-]+\/revoke)"/.exec(listed)?.[1] ?? "";
  expect((await admin.post(revoke)).status).toBe(303);
  expect(words(await admin.page(path))).toContain("No open invitation.");

  const { id } = await addPerson(plane, team, "viewer");
  const member = `${path}/members/${id}`;
  expect((await admin.post(member, { role: "owner" })).status).toBe(400);
  expect((await admin.post(member, { role: "deployer" })).status).toBe(303);
  const roleOf = async () =>
    (await admin.client.call("listMembers", { params: team.params })).members.find(
      ({ user_id }) => user_id === id,
    )?.role;
  expect(await roleOf()).toBe("deployer");
  expect((await admin.post(`${member}/remove`)).status).toBe(303);
  expect(await roleOf()).toBeUndefined();
  const last = await admin.post(`${path}/members/${admin.id}/remove`);
  expect([last.status, words(last)]).toEqual([409, expect.stringContaining("the only admin")]);
});

test("lists, links, forms and redirects stay in the team that the address names", async () => {
  const team = await openTeam(plane);
  const browser = team.admin;
  const inTeam = `?team=${team.slug}`;
  const list = await browser.page(`/zones${inTeam}`);
  expect(list.text).toContain(`<form method="post" action="/zones${inTeam}"`);
  expect(list.text).toContain(`<a href="/jobs${inTeam}"`);
  expect(list.text).toContain(`<input type="hidden" name="team" value="${team.slug}" />`);
  expect(list.text).toContain(`<a href="/teams${inTeam}"`);
  expect((await browser.page(`/teams${inTeam}`)).text).toContain(`<a href="/jobs${inTeam}"`);
  const made = await browser.post(`/zones${inTeam}`, { name: "shared" });
  const zone = String(made.headers["location"]);
  expect((await team.calls.call("listZones")).zones.map(({ name }) => name)).toEqual(["shared"]);
  expect((await browser.page("/zones")).text).not.toContain("shared");
  // A page of one thing needs no team in its address.
  const page = await browser.page(zone);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(`"/jobs${inTeam}"`)]);
  const deleted = await browser.post(`${zone}/delete`);
  expect([deleted.status, deleted.headers["location"]]).toEqual([303, `/zones${inTeam}`]);

  const another = await openPerson(plane);
  for (const path of [`/zones${inTeam}`, `/teams/${team.slug}`, `/audit${inTeam}`])
    expect((await another.page(path)).status).toBe(404);
});

test.each<[role: Role, off: string[]]>([
  ["viewer", ["Plan: planner", "Plan and apply now: deployer", "Delete the configuration: admin"]],
  ["planner", ["Plan and apply now: deployer", "Delete the configuration: admin"]],
  ["deployer", ["Delete the configuration: admin"]],
  ["admin", []],
])(
  "with the role %s, a person sees which role a button needs, and cannot send its form",
  async (role, off) => {
    const team = await openTeam(plane);
    const zone = await team.calls.call("createZone", { body: { name: "shared" } });
    const source = { type: "inline" as const, files: { "main.tf": "" } };
    const body = { zone_id: zone.id, name: newSlug(), source };
    const { id } = await team.calls.call("createConfiguration", { body });
    const browser = await addPerson(plane, team, role);

    const page = await browser.page(`/configurations/${id}/settings`);
    expect(page.status).toBe(200);
    const found = new Set(offOn(page.text).map((one) => one.replace("Needs the role ", "")));
    for (const one of [
      "Plan: planner",
      "Plan and apply now: deployer",
      "Delete the configuration: admin",
    ])
      expect([one, found.has(one)]).toEqual([one, off.includes(one)]);

    const may = (least: Role) => roles.indexOf(role) >= roles.indexOf(least);
    // What a job takes depends on its type.
    const job = { configuration_id: id, job_type: "DEPLOY" } as const;
    const deployment = await team.calls.call("createJob", { body: job });
    const offOnJob = offOn((await browser.page(`/jobs/${deployment.id}`)).text);
    expect(offOnJob).toEqual(may("deployer") ? [] : ["Cancel: Needs the role deployer"]);
    await team.calls.call("cancelJob", { params: deployment });

    // Links that lead to what is refused lead nowhere.
    await addState(plane.context.store, { spec_id: id, blob: id, created_at: Date.now() });
    const settings = (await browser.page(`/configurations/${id}/settings`)).text;
    const state = (await browser.page(`/configurations/${id}/state`)).text;
    const inZone = (await browser.page(`/zones/${zone.id}`)).text;
    for (const [text, words] of [
      [settings, "Edit the settings"],
      [state, "Download"],
      [inZone, "New configuration"],
    ] as const) {
      const [link = ""] =
        new RegExp(`<a [^>]*>${words}<`).exec(text.replaceAll(/\s+>/g, ">")) ?? [];
      expect([words, link]).toEqual([
        words,
        may("deployer")
          ? expect.stringContaining('href="/')
          : expect.stringMatching(/^(?!.*href).*title="Needs the role deployer"/),
      ]);
    }

    for (const [path, least, fields] of [
      [`/configurations/${id}/jobs`, "planner", { job_type: "PLAN" }],
      [`/configurations/${id}/jobs`, "deployer", { job_type: "DEPLOY" }],
      [`/zones?team=${team.slug}`, "deployer", { name: newSlug() }],
      [`/workers/register?team=${team.slug}`, "admin", {}],
      [`/teams/${team.slug}/invitations`, "admin", { role: "viewer" }],
    ] as const) {
      const { status, text } = await browser.post(path, fields);
      expect([path, fields, status === 403]).toEqual([path, fields, !may(least)]);
      // The page of the refusal stays in the team.
      if (status === 403) expect(text).toContain(`<a href="/jobs?team=${team.slug}"`);
    }
  },
);

test("someone with roles in zones only sees in the list of members themselves, and leaves", async () => {
  const team = await openTeam(plane);
  const { id } = await team.calls.call("createZone", { body: { name: "shared" } });
  const person = await openPerson(plane);
  await join(plane, team.admin, team.slug, person, { role: null, zones: { [id]: "admin" } });
  const page = await person.page(team.path);
  expect(words(page)).toMatch(
    new RegExp(`Remove ${person.email} \\(you\\) admin in shared .* Leave the team`),
  );
  expect(words(page)).toContain("The other members are shown to those with a role in the team.");
  expect(page.text).not.toContain(team.admin.email);
  const { calls } = team;
  expect(words(await team.admin.page(team.path))).not.toContain("groups without a role");
  await calls.call("deleteZone", { params: { id } });
  const shown = await team.admin.page(team.path);
  expect(words(shown)).toContain("Members and groups without a role had roles only in zones");
  expect(dom(shown.text).querySelector("option[value=''][selected]")?.text).toBe("no role");
  const left = await person.post(`${team.path}/members/${person.id}/remove`);
  expect([left.status, left.headers["location"]]).toEqual([303, "/teams?team="]);
  expect((await person.page(team.path)).status).toBe(404);
});

test.each<[role: Role | null, off: string[]]>([
  ["viewer", ["Attach", "Detach"]],
  [null, ["Detach"]],
])(
  "an admin of a zone with the role %s in the team gets no button that is refused",
  async (role, off) => {
    const team = await openTeam(plane);
    const person = await openPerson(plane);
    const { id } = await team.calls.call("createZone", { body: { name: "shared" } });
    await join(plane, team.admin, team.slug, person, { role, zones: { [id]: "admin" } });
    const overview = words(await person.page(`/?team=${team.slug}`));
    expect(overview).toContain("Ask a deployer of the team to create a zone");
    expect(overview).toContain("Ask an admin of the team to add a worker");
    const [set] = await Promise.all(
      ["base", "free"].map((name) => team.calls.call("createVariableSet", { body: { name } })),
    );
    const params = { id: set!.id, zone_id: id };
    await team.calls.call("attachToZone", { params });
    const { text } = await person.page(`/zones/${id}`);
    expect(offOn(text).toSorted()).toEqual(
      off.map((words) => `${words}: Needs the role deployer in the whole team`),
    );
    expect(text).not.toContain("Move to another space");
    expect(text.includes(`href="/variable-sets/${set!.id}"`)).toBe(role !== null);
    expect(words(text)).toContain(" base ");
    expect(offOn((await person.page(`/zones?team=${team.slug}`)).text)).toEqual([
      "Create the zone: Needs the role deployer in the whole team",
    ]);
  },
);

test("a zone moves to another space of which the reader is an admin, and back", async () => {
  const team = await openTeam(plane);
  const { page, post } = team.admin;
  const zone = String((await post("/zones", { name: "shared" })).headers["location"]);
  expect((await page(zone)).text).toContain(`<option value="${team.slug}"`);
  expect((await post(`${zone}/team`, { team: newSlug() })).status).toBe(404);
  const names = async () => (await team.calls.call("listZones")).zones.map(({ name }) => name);
  expect(await names()).toEqual([]);
  const source = { type: "inline" as const, files: { "main.tf": "" } };
  const { id: configuration_id } = await team.admin.client.call("createConfiguration", {
    body: { zone_id: zone.replace("/zones/", ""), name: "network", source },
  });
  const job = await team.admin.client.call("createJob", {
    body: { job_type: "PLAN", configuration_id },
  });
  const refused = await post(`${zone}/team`, { team: team.slug });
  expect([refused.status, words(refused)]).toEqual([
    409,
    expect.stringContaining(
      `The PLAN of "network" (job ${job.id}) has not ended: wait for it or cancel it first.`,
    ),
  ]);
  await team.admin.client.call("cancelJob", { params: job });
  expect((await post(`${zone}/team`, { team: team.slug })).status).toBe(303);
  expect(await names()).toEqual(["shared"]);
  expect((await page("/zones")).text).not.toContain("shared");
  expect((await post(`${zone}/team`, { team: "" })).status).toBe(303);
  expect(await names()).toEqual([]);
});

test("the overview of a new team sends members to the role that can do what is missing", async () => {
  const team = await openTeam(plane);
  const overview = async (person: { page(path: string): Promise<Parameters<typeof words>[0]> }) =>
    words(await person.page(`/?team=${team.slug}`));
  expect(await overview(team.admin)).toMatch(
    /windlass up .*Add a worker on a machine.*create a zone and/,
  );
  expect(await overview(await addPerson(plane, team, "deployer"))).toMatch(
    /Ask an admin of the team to add a worker on a machine.*create a zone and/,
  );
  const viewer = await overview(await addPerson(plane, team, "viewer"));
  expect(viewer).toContain(
    "Ask a deployer of the team to create a zone, and in it a configuration",
  );
});
