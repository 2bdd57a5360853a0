/** The page of the people who operate the server, and what it changes. */
import { describe, expect, test } from "vitest";
import { ask, setRows } from "../../../helpers/plane/plane.ts";
import {
  approve,
  bearer,
  newLink,
  openPerson,
  signIn as signInClient,
} from "../../../helpers/people/sign-in.ts";
import { providersForFile } from "./provider-sign-in.ts";
import { attributes, texts } from "../../../helpers/console/forms.ts";
import { TestBrowser } from "../../../helpers/people/providers.ts";

const operatorAddress = "operator@example.com";
const { plane, providers, nextPerson, allow, signIn } = providersForFile({
  WINDLASS_OPERATORS: operatorAddress,
});

const openOperator = () => openPerson(plane, operatorAddress);
const entries = (user: string) =>
  plane.context.store.read.sql
    .selectFrom("audit_entries")
    .select(["action", "actor_kind", "actor_name", "details"])
    .where("owner_id", "=", user)
    .where("action", "in", ["user.sign_out", "user.block", "user.unblock"])
    .orderBy("id")
    .execute();

describe("the page of operators", () => {
  test("does not exist for others, and its forms change nothing for them", async () => {
    const [other, victim] = [await openPerson(plane), await openPerson(plane)];
    expect((await other.page("/operator")).status).toBe(404);
    expect((await other.page("/settings")).text).not.toContain("/operator");
    for (const path of ["sign-out", "block", "unblock"])
      expect((await other.post(`/operator/people/${victim.id}/${path}`)).status).toBe(404);
    expect((await victim.page("/settings")).status).toBe(200);
    expect(await entries(victim.id)).toEqual([]);
  });

  test("says who is signed in and what permits them", async () => {
    const operator = await openOperator();
    nextPerson();
    providers.github.person.email = "ruled@example.net";
    allow("@example.net");
    await signIn("github", new TestBrowser());
    nextPerson();
    providers.github.person.email = "grouped@example.org";
    providers.github.memberships.set("/api/v3/user/memberships/orgs/acme", {
      status: 200,
      body: { state: "active" },
    });
    allow("@example.net", "github:org/acme");
    await signIn("github", new TestBrowser());
    const { text } = await operator.page("/operator");
    expect(attributes(await operator.page("/settings"), "a")).toContain("/operator");
    const rows = texts(text, "tr");
    const rowOf = (email: string) => rows.find((row) => row.includes(email)) ?? "";
    expect(rowOf("ruled@example.net")).toContain("address rule @example.net");
    expect(rowOf("grouped@example.org")).toContain("group rule github:org/acme");
    expect(rowOf(operatorAddress)).toContain("login link");
    const found = await operator.page("/operator?q=GROUPED");
    expect(found.text).toContain("grouped@example.org");
    expect(found.text).not.toContain("ruled@example.net");
    allow();
    expect((await operator.page("/operator?q=ruled")).text).toContain("nothing, so the logins end");
  });

  test("lists people in pages", async () => {
    const operator = await openOperator();
    const people = await Promise.all(Array.from({ length: 51 }, () => openPerson(plane)));
    const first = await operator.page("/operator");
    const [next = ""] = attributes(first, "[href^='/operator?before=']");
    const second = await operator.page(next);
    const emails = people.map(({ email }) => email);
    const on = (text: string) => emails.filter((email) => text.includes(`Block ${email}`));
    expect(on(first.text)).toHaveLength(50);
    expect([...on(first.text), ...on(second.text)].toSorted()).toEqual(emails.toSorted());
  });
});

describe("signing a person out", () => {
  test("ends sessions, clients, streams and approved device codes, with an entry", async () => {
    const operator = await openOperator();
    const person = await openPerson(plane);
    const tokens = await signInClient(plane, person);
    const waiting = await approve(plane, person);
    const link = await newLink(plane, person.email);
    expect((await operator.post(`/operator/people/${person.id}/sign-out`)).status).toBe(303);
    expect((await person.page("/settings")).status).toBe(303);
    const zones = await ask(plane, "GET", "/api/cli/zones", {
      headers: bearer(tokens.access_token),
    });
    expect(zones.status).toBe(401);
    const { refresh_token } = tokens;
    const refreshed = await ask(plane, "POST", "/api/auth/cli/refresh", {
      json: { refresh_token },
    });
    expect(refreshed.status).toBe(401);
    const { device_code, verification_code } = waiting;
    const exchange = { json: { device_code, verification_code } };
    expect((await ask(plane, "POST", "/api/auth/cli/exchange", exchange)).status).toBe(400);
    expect((await ask(plane, "GET", link)).status).toBe(410);
    expect(await entries(person.id)).toEqual([
      {
        action: "user.sign_out",
        actor_kind: "session",
        actor_name: operatorAddress,
        details: '{"logins":2}',
      },
    ]);
    // It is no block.
    expect((await ask(plane, "GET", await newLink(plane, person.email))).status).toBe(303);
  });
});

describe("blocking a person", () => {
  test("refuses sign-ins and access tokens until it is undone", async () => {
    const operator = await openOperator();
    const person = await openPerson(plane);
    const { access_token } = await person.client.call("createAccessToken", {
      body: { name: "pipeline", role: "viewer" },
    });
    const zones = async () =>
      (await ask(plane, "GET", "/api/cli/zones", { headers: bearer(access_token) })).status;
    const open = async () => (await ask(plane, "GET", await newLink(plane, person.email))).status;
    expect(await zones()).toBe(200);
    expect((await operator.post(`/operator/people/${person.id}/block`)).status).toBe(303);
    expect((await person.page("/settings")).status).toBe(303);
    expect([await zones(), await open()]).toEqual([401, 403]);
    // Another account with the address of a blocked person.
    nextPerson();
    allow("*");
    providers.github.person.email = person.email.toUpperCase();
    const again = await signIn();
    expect([again.status, again.isIn]).toEqual([403, false]);
    expect(again.text).toContain("An operator of this server has blocked you");
    expect((await operator.page(`/operator?q=${person.email}`)).text).toContain("Unblock");
    expect((await operator.post(`/operator/people/${person.id}/unblock`)).status).toBe(303);
    expect([await zones(), await open()]).toEqual([200, 303]);
    expect((await signIn()).isIn).toBe(true);
    expect((await entries(person.id)).map(({ action }) => action)).toEqual([
      "user.block",
      "user.unblock",
    ]);
  });

  test("is not possible for oneself, nor for an operator who was signed out meanwhile", async () => {
    const operator = await openOperator();
    const person = await openPerson(plane);
    expect((await operator.post(`/operator/people/${operator.id}/block`)).status).toBe(403);
    await setRows(plane, "logins", { revoked_at: Date.now() }, { user_id: operator.id });
    expect((await operator.post(`/operator/people/${person.id}/block`)).status).toBe(303);
    expect(await entries(person.id)).toEqual([]);
    expect((await person.page("/settings")).status).toBe(200);
  });
});
