/** Every endpoint and page, called by members and access tokens with roles in some zones only. */
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { followDefaults } from "../../protocol/follow.ts";
import { teamHeader } from "../../protocol/limits.ts";
import { roles, type Role } from "../../protocol/roles.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { makeSpace } from "../helpers/plane/role-space.ts";
import type { ServedRoute } from "../helpers/plane/routes.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { ask, setRows } from "../helpers/plane/plane.ts";
import { addJob, addRows, addSpec } from "../helpers/plane/rows.ts";
import { attributes } from "../helpers/console/forms.ts";
import { bearer } from "../helpers/people/sign-in.ts";
import { dump } from "../helpers/store/store-dump.ts";
import {
  callersOf,
  isOpen,
  isPage,
  kinds,
  leastRole,
  report,
  type Headers,
  type Kind,
  type Rule,
  type Space,
} from "./role-calls.ts";

const { plane, routes } = planeForFile({ WINDLASS_OFFLINE_SECONDS: "3600" });
const { check, newMember, newToken, send } = callersOf(plane);

/** What belongs to zones, or shows what is in them, written out. */
const ofZones =
  /^(GET (\/|\/cli\/login|\/search|\/teams|\/teams\/:slug|\/invitations\/:token|\/api\/cli\/teams(\/:slug)?|\/api\/cli\/access-tokens\/current)|\w+ (\/api\/cli)?\/(zones|configurations|jobs|schedules)(\/.*)?|\w+ \/api\/jobs(\/.*)?|POST \/api\/cli\/archives)$/;
/** Within these addresses, what belongs to the whole space. */
const ofSpace =
  /^POST (\/api\/cli)?\/zones$|\/variable-sets$|^POST \/zones\/:id\/team$|\/zones\/:zone_id$/;
/** What belongs to a person, whatever the role is. */
const ofPerson =
  /(GET|POST) \/(settings|operator|logout|invitations)\b|\/api\/cli\/logins|\/api\/auth\/|^POST (\/api\/cli)?\/teams$|^GET \/api\/cli\/access-tokens$|\/repositories\/:git_provider$/;

const isOfZones = (key: string): boolean => ofZones.test(key) && !ofSpace.test(key);

/** The rule of a caller without a role in the whole space; `person`: no access at all. */
function ruleInZones(kind: Kind, route: ServedRoute): Rule {
  const key = `${route.method} ${route.url}`;
  const rule = leastRole(kind, route);
  if (rule === "other" || isOfZones(key)) return rule;
  // A token has at most the roles of its creator, and the body asks for one in the whole space.
  if (key === "POST /api/cli/access-tokens") return "person";
  return ofPerson.test(key) && rule === "viewer" ? rule : "person";
}

/** A configuration with open jobs does not change its zone. */
const endJobs = (spec_id: string) =>
  setRows(plane, "jobs", { status: "FAILED", ended_at: 2, released_at: 2 }, { spec_id });

const called = () => routes.filter((route) => route.endpoint !== undefined || isPage(route));
const inAll = ({ zones }: Space, role: Role) => ({
  role: null,
  zones: Object.fromEntries(zones.map((zone) => [zone, role])),
});

describe("someone with roles in zones only", () => {
  for (const kind of kinds)
    it(`may do there what they permit, and nothing with the whole space, by ${kind}`, async () => {
      const wrong: string[] = [];
      for (const role of roles) {
        const space = await makeSpace(plane);
        const given = inAll(space, role);
        const headers =
          kind === "token"
            ? bearer((await newToken(space, given)).access_token)
            : (await newMember(space, given))[kind];
        const some = called().filter(
          (route) => isPage(route) === (kind === "session") && route.url !== "/cli/login",
        );
        wrong.push(...(await check(space, kind, role, headers, some, ruleInZones)));
      }
      report(wrong);
    });

  it("neither sees nor changes what is in other zones", async () => {
    const space = await makeSpace(plane);
    const own = await space.client.call("createZone", { body: { name: "own" } });
    const given = { role: null, zones: { [own.id]: "admin" as const } };
    const spec = await addSpec(plane.context.store, { id: space.id, zone: own.id });
    const { access_token } = await newToken(space, given);
    const narrow = await space.client.call("createAccessToken", {
      body: { name: "narrow", role: "admin", configurations: [spec] },
    });
    const callers: Record<string, Headers> = {
      "by client": (await newMember(space, given)).cli,
      "by browser": (await newMember(space, given)).session,
      "by token": bearer(access_token),
      "by a token for one configuration": bearer(narrow.access_token),
    };
    const stored = async () =>
      (await dump(plane)).filter((line) => line.includes(space.id) && !line.includes("last_used"));
    const before = await stored();
    const wrong: string[] = [];
    let asked = 0;
    for (const [name, headers] of Object.entries(callers))
      for (const route of called()) {
        const { method, url } = route;
        const key = `${method} ${url}`;
        if (isOpen(url) || leastRole("cli", route) === "other" || ofPerson.test(key)) continue;
        if (isPage(route) && !("cookie" in headers)) continue;
        // What belongs to a person, to a team or to no zone yet.
        if (
          /teams|archives$|^POST \/schedules\/new$|\/access-tokens|\/cli\/login$|\/invitations/.test(
            key,
          )
        )
          continue;
        const answer = await send(space, route, headers);
        asked += 1;
        const mayList = method === "GET" && !url.includes(":") && isOfZones(key);
        const isRight = mayList
          ? answer.status === 200
          : isOfZones(key)
            ? answer.status === 404
            : answer.status === 403 || (ofSpace.test(key) && answer.status === 404);
        if (!isRight || answer.text.includes(space.mark))
          wrong.push(`${name}: ${key}: ${answer.status} ${answer.text.slice(0, 300)}`);
      }
    process.stdout.write(`${asked} requests, ${wrong.length} wrong\n`);
    expect(wrong).toEqual([]);
    expect(await stored()).toEqual(before);
    const { configurations: all } = await space.client.call("listConfigurations");
    const hidden = all.find(({ id }) => id !== spec)!;
    for (const [name, headers] of Object.entries(callers)) {
      const calls = callsOf(plane, headers);
      const { zones } = await calls.call("listZones");
      expect([name, zones.map((zone) => [zone.id, zone.specs.map(({ id }) => id)])]).toEqual([
        name,
        [[own.id, [spec]]],
      ]);
      const { configurations } = await calls.call("listConfigurations");
      expect([name, configurations.map(({ id }) => id)]).toEqual([name, [spec]]);
      expect([name, (await calls.call("listJobs")).jobs]).toEqual([name, []]);
      for (const configuration of [hidden.name, hidden.id, "unknown"])
        expect([name, await calls.refusal("listJobs", { query: { configuration } })]).toEqual([
          name,
          "404 not_found",
        ]);
      await calls.call("listJobs", { query: { configuration: spec } });
      expect([name, (await calls.call("listSchedules")).schedules]).toEqual([name, []]);
    }
  });
});

it("the overview and the search show of a space what is in the zones", async () => {
  const space = await makeSpace(plane);
  const [zone = "", other = ""] = space.zones;
  const words = { failed: "f", warned: "w", drifted: "d", ends: "e", locked: "l" };
  const names: Record<string, string> = {};
  for (const [word, mark] of Object.entries(words))
    for (const [place, id] of [
      ["in", zone],
      ["out", other],
    ] as const) {
      const name = `${mark}-${place}-${space.slug}`;
      const spec = await addSpec(plane.context.store, { id: space.id, zone: id });
      await setRows(plane, "specs", { name }, { id: spec });
      names[`${word} ${place}`] = name;
      const job = await addJob(
        plane.context.store,
        { id: space.id, zone: id },
        {
          spec_id: spec,
          status: "FAILED",
          ended_at: 2,
          released_at: 2,
        },
      );
      const columns = {
        failed: { failed_job_id: job.id, status: "FAILED" as const },
        warned: { failed_checks: 1, status: "DEPLOYED" as const },
        drifted: { drift_status: "drifted" as const, drift_since: 1, drift_resources: 1 },
        ends: {},
        locked: {},
      }[word as keyof typeof words];
      if (Object.keys(columns).length > 0) await setRows(plane, "specs", columns, { id: spec });
      if (word === "ends")
        await space.client.call("updateConfiguration", {
          params: { name: spec },
          body: { expires_at: new Date(Date.now() + 3_600_000).toISOString() },
        });
      if (word === "locked")
        await addRows(plane.context.store, "state_locks", {
          spec_id: spec,
          lock_id: spec,
          job_id: job.id,
          info: "{}",
          created_at: 1,
        });
    }
  const { session } = await newMember(space, { role: null, zones: { [zone]: "viewer" } });
  const admin = await newMember(space, "admin");
  const read = async (headers: Headers, path: string) =>
    (await ask(plane, "GET", path, { headers })).text;
  const shown = (text: string) =>
    Object.keys(names)
      .filter((name) => text.includes(names[name]!))
      .toSorted();
  const all = Object.keys(names).toSorted();
  const inside = all.filter((name) => name.endsWith(" in"));
  for (const path of ["/", `/search?q=${space.slug}`, `/zones/${zone}`]) {
    expect([path, shown(await read(session, path))]).toEqual([path, inside]);
    if (!path.startsWith("/zones"))
      expect([path, shown(await read(admin.session, path))]).toEqual([path, all]);
  }
});

it("pages name of the whole space only what the zones use, and have it selected", async () => {
  const space = await makeSpace(plane);
  const [zone = "", other = ""] = space.zones;
  const { client } = space;
  const make = async (mark: string) => {
    const name = `${mark}-${space.slug}`;
    const [set, identity, connection] = await Promise.all([
      client.call("createVariableSet", { body: { name } }),
      client.call("createCloudIdentity", {
        body: { name, provider: "aws", role_arn: "arn:aws:iam::123456789012:role/x" },
      }),
      client.call("createConnection", {
        body: { name, kind: "forgejo", base_url: "https://git.invalid", credential: "t" },
      }),
    ]);
    return { name, set: set.id, identity: identity.id, connection: connection.id };
  };
  const [used, hidden] = [await make("used"), await make("hidden")];
  const { id } = await client.call("createConfiguration", {
    body: {
      name: "following",
      zone_id: zone,
      cloud_identity_id: used.identity,
      source: { type: "git", url: "https://git.invalid/ada/infra-1.git" },
    },
  });
  await addRows(plane.context.store, "follows", {
    spec_id: id,
    connection_id: used.connection,
    repository_id: "1",
    repository: "ada/infra-1",
    branch: "main",
    settings: JSON.stringify({ ...followDefaults, webhook_problem: null }),
    seen_commit: null,
    look_at: plane.context.now() + 1e12,
    updated_at: 1,
  });
  await client.call("attachToConfiguration", {
    params: { id: used.set, configuration_id: id },
  });
  // The last run was of a configuration that is in another zone now.
  const left = await addSpec(plane.context.store, { id: space.id, zone: other });
  const job = await addJob(plane.context.store, { id: space.id, zone }, { spec_id: left });
  const schedule = await client.call("createSchedule", {
    body: {
      name: "nightly",
      kind: "plan",
      configuration_id: id,
      cron: "0 0 1 1 *",
      timezone: "UTC",
    },
  });
  await setRows(plane, "schedules", { last_at: 1, last_job_id: job.id }, { id: schedule.id });
  const given = { role: null, zones: { [zone]: "deployer" } } as const;
  const { session } = await newMember(space, given);
  const admin = (await newMember(space, "admin")).session;
  const read = async (headers: Headers, path: string) =>
    (await ask(plane, "GET", path, { headers })).text;
  const own = `/configurations/${id}`;
  for (const [path, sees] of [
    [`/zones/${zone}`, false],
    [`/zones/${zone}/new`, true],
    [`${own}/edit`, true],
    [`${own}/variables`, true],
    [`${own}/settings`, true],
  ] as const) {
    const text = await read(session, path);
    expect([path, text.includes(used.name), text.includes(hidden.name)]).toEqual([
      path,
      sees,
      false,
    ]);
    expect([path, (await read(admin, path)).includes(hidden.name)]).toEqual([path, true]);
  }
  for (const path of ["/schedules", `/schedules/${schedule.id}`]) {
    const text = await read(session, path);
    expect([path, text.includes("Queued"), text.includes(job.id)]).toEqual([path, true, false]);
    expect([path, (await read(admin, path)).includes(job.id)]).toEqual([path, true]);
  }
  for (const [path, thing] of [
    ["edit", used.identity],
    ["settings", used.connection],
  ] as const)
    expect(
      attributes(await read(session, `${own}/${path}`), "option[selected]", "value"),
    ).toContain(thing);
});

it("a role in a zone raises the role in the whole space, there and nowhere else", async () => {
  const wrong: string[] = [];
  for (const role of roles.slice(1)) {
    const space = await makeSpace(plane);
    const { cli } = await newMember(space, { ...inAll(space, role), role: "viewer" });
    const rule = (kind: Kind, route: ServedRoute): Rule => {
      const key = `${route.method} ${route.url}`;
      const least = leastRole(kind, route);
      if (least === "other" || least === "viewer" || isOfZones(key)) return least;
      return "person";
    };
    const some = called().filter((route) => !isPage(route));
    wrong.push(...(await check(space, "cli", role, cli, some, rule)));
  }
  const space = await makeSpace(plane);
  const own = await space.client.call("createZone", { body: { name: "own" } });
  const zones = { [own.id]: "admin" as const };
  const { cli } = await newMember(space, { role: "viewer", zones });
  // An archive belongs to no zone yet: who may plan in one uploads it.
  const some = called().filter((route) => !isPage(route) && !route.url.endsWith("/archives"));
  wrong.push(...(await check(space, "cli", "viewer", cli, some)));
  expect(cli[teamHeader]).toBe(space.slug);
  report(wrong);
});

it("a role in a zone is not one for workers, identities and other zones", async () => {
  const space = await makeSpace(plane);
  const [zone = "", other = ""] = space.zones;
  const { cli } = await newMember(space, { role: null, zones: { [zone]: "admin" } });
  const calls = callsOf(plane, cli);
  const worker = space.pathOf("GET", "/api/cli/workers/:id").split("/").at(-1)!;
  const identity = space.pathOf("GET", "/api/cli/cloud-identities/:id").split("/").at(-1)!;
  const [spec, params] = [space.spec, { name: space.spec }];
  const teardown = { job_type: "DESTROY_WORKER", assigned_worker_id: worker } as const;
  expect(await calls.refusal("createJob", { body: teardown })).toBe("403 permission_denied");
  const update = (body: object) => calls.refusal("updateConfiguration", { params, body });
  expect(await update({ zone_id: other })).toBe("404 not_found");
  expect(await update({ cloud_identity_id: identity })).toBe("403 permission_denied");
  const schedule = space.pathOf("GET", "/api/cli/schedules/:id").split("/").at(-1)!;
  const move = { params: { id: schedule }, body: { zone_id: other } };
  expect(await calls.refusal("updateSchedule", move)).toBe("404 not_found");
  const planned = { name: "x", kind: "plan", cron: "0 0 1 1 *", timezone: "UTC" } as const;
  expect(await calls.refusal("createSchedule", { body: { ...planned, zone_id: other } })).toBe(
    "404 not_found",
  );
  const leave = { params: { id: zone }, body: { team: null } };
  expect(await calls.refusal("updateZone", leave)).toBe("403 permission_denied");
  // What a configuration there uses already may be used again.
  await space.client.call("updateConfiguration", { params, body: { cloud_identity_id: identity } });
  const source = { type: "inline", files: { "main.tf": "" } } as const;
  const body = { name: "second", zone_id: zone, cloud_identity_id: identity, source };
  expect((await calls.call("createConfiguration", { body })).cloud_identity_id).toBe(identity);
  // A token has at most the roles of its creator, and narrows them.
  const token = { name: "t", role: "viewer" } as const;
  expect(await calls.refusal("createAccessToken", { body: token })).toBe("403 permission_denied");
  const made = await calls.call("createAccessToken", {
    body: { name: "t", zones: { [zone]: "deployer" }, configurations: [spec] },
  });
  const narrow = callsOf(plane, bearer(made.access_token));
  expect((await narrow.call("listConfigurations")).configurations.map(({ id }) => id)).toEqual([
    spec,
  ]);
  const plan = { body: { job_type: "PLAN", configuration_id: spec } } as const;
  await narrow.call("createJob", plan);
  const admin = { zones: { [zone]: "viewer" } } as const;
  const members = await space.client.call("listMembers", { params: { slug: space.slug } });
  const member = members.members.find(({ zones }) => zones[zone] === "admin")!;
  await space.client.call("updateMember", {
    params: { slug: space.slug, user_id: member.user_id },
    body: admin,
  });
  expect(await narrow.refusal("createJob", plan)).toBe("403 permission_denied");
  await endJobs(spec);
  await space.client.call("updateConfiguration", { params, body: { zone_id: other } });
  expect(await narrow.refusal("createJob", plan)).toBe("404 not_found");
});

it("a role follows the configuration into another zone, and gives nothing over it in the one before", async () => {
  const space = await makeSpace(plane);
  const [from = "", to = ""] = space.zones;
  const { client, spec } = space;
  const params = { name: spec };
  const [left, both] = await Promise.all(
    [{ [from]: "deployer" } as const, { [from]: "deployer", [to]: "admin" } as const].map(
      async (zones) => callsOf(plane, (await newMember(space, { role: null, zones })).cli),
    ),
  );
  const failed = await client.call("listJobs", {
    query: { configuration: spec, status: "FAILED" },
  });
  const job = { params: failed.jobs[0]! };
  // Who has more rights over there must be an admin here.
  const move = { params, body: { zone_id: to } };
  expect(await both!.refusal("updateConfiguration", move)).toBe("403 permission_denied");
  expect((await left!.call("getJob", job)).configuration_id).toBe(spec);
  await endJobs(spec);
  await client.call("updateConfiguration", move);
  expect(await left!.refusal("getJob", job)).toBe("404 not_found");
  expect(await left!.refusal("retryJob", job)).toBe("404 not_found");
  expect((await left!.call("listJobs", { query: {} })).jobs.map(({ id }) => id)).not.toContain(
    job.params.id,
  );
  expect((await both!.call("getJob", job)).configuration_id).toBe(spec);
  // Without a role in the whole space, an identity of another zone cannot be taken along.
  const identity = space.pathOf("GET", "/api/cli/cloud-identities/:id").split("/").at(-1)!;
  await client.call("updateConfiguration", { params, body: { cloud_identity_id: identity } });
  const source = { type: "inline", files: { "main.tf": "" } } as const;
  const body = { name: "taken", zone_id: from, cloud_identity_id: identity, source };
  expect(await both!.refusal("createConfiguration", { body })).toBe("403 permission_denied");
  // A token for one configuration uses what that uses, not what others in its zone do.
  const other = await client.call("createConfiguration", {
    body: { name: "other", zone_id: to, source },
  });
  const { access_token } = await client.call("createAccessToken", {
    body: { name: "one", role: "deployer", configurations: [other.id] },
  });
  const narrow = callsOf(plane, bearer(access_token));
  const use = { params: { name: other.id }, body: { cloud_identity_id: identity } };
  expect(await narrow.refusal("updateConfiguration", use)).toBe("403 permission_denied");
});

it("a configuration that gets into another zone while a request arrives is judged there", async () => {
  const space = await makeSpace(plane);
  const [from = "", to = ""] = space.zones;
  const source = { type: "inline", files: { "main.tf": "" } } as const;
  const made = await space.client.call("createConfiguration", {
    body: { name: "moving", zone_id: from, source },
  });
  const { cli } = await newMember(space, { role: null, zones: { [from]: "deployer" } });
  // As for a request whose head was judged before the move, and whose body came after it.
  const body = JSON.stringify({ labels: ["late"] });
  const { hostname, port } = new URL(plane.url);
  const socket = connect(Number(port), hostname);
  const lines = Object.entries({ ...cli, "content-type": "application/json" });
  socket.write(
    `PATCH /api/cli/configurations/${made.id} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body.slice(0, 5)}`,
  );
  await expect.poll(() => socket.bytesWritten).toBeGreaterThan(100);
  const params = { name: made.id };
  await space.client.call("updateConfiguration", { params, body: { zone_id: to } });
  socket.write(body.slice(5));
  expect(await text(socket)).toMatch(/^HTTP\/1.1 40[34] /);
  const { labels } = await space.client.call("getConfiguration", { params });
  expect(labels).toEqual([]);
});

it("a configuration with an open job or an approval rule does not change its zone by a deployer", async () => {
  const space = await makeSpace(plane);
  const [from = "", to = ""] = space.zones;
  const source = { type: "inline", files: { "main.tf": "" } } as const;
  const approval = { when: "always" } as const;
  const made = await space.client.call("createConfiguration", {
    body: { name: "ruled", zone_id: from, source, approval },
  });
  const zones = { [from]: "deployer", [to]: "deployer" } as const;
  const calls = callsOf(plane, (await newMember(space, { role: null, zones })).cli);
  const move = { params: { name: made.id }, body: { zone_id: to } };
  expect(await calls.refusal("updateConfiguration", move)).toBe("403 permission_denied");
  await space.client.call("updateConfiguration", {
    params: move.params,
    body: { approval: null },
  });
  const job = await calls.call("createJob", {
    body: { job_type: "PLAN", configuration_id: made.id },
  });
  expect(await calls.refusal("updateConfiguration", move)).toBe("409 configuration_busy");
  await calls.call("cancelJob", { params: job });
  expect((await calls.call("updateConfiguration", move)).zone_id).toBe(to);
});
