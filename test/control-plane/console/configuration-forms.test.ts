/** The forms of zones, configurations and identities, sent without a browser. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { callsOf } from "../../helpers/plane/calls.ts";
import { dump } from "../../helpers/store/store-dump.ts";
import {
  attributes,
  type Fields,
  submit as send,
  texts,
  words,
} from "../../helpers/console/forms.ts";
import { writeState } from "../../helpers/console/sample-pages.ts";
import { addTestWorker, ask, type TestResponse } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});

const submit = (path: string, fields: Fields, headers = fixture.headers): Promise<TestResponse> =>
  send(plane, path, fields, headers);
const page = (path: string, headers = fixture.headers) => ask(plane, "GET", path, { headers });
const read = (name: string) => fixture.client.call("getConfiguration", { params: { name } });
const audit = async () => {
  const query = { limit: 1 };
  return (await fixture.client.call("listAuditEntries", { query })).audit_entries[0];
};
const statusAndWords = (answer: TestResponse) => `${answer.status} ${words(answer)}`;

/** The fields of a new configuration. */
const filled = (more: Fields = {}): Fields => ({
  name: randomUUID(),
  source: "git",
  url: "https://git.example.com/x.git",
  engine: "terraform",
  backend: "managed",
  timeout_seconds: "3600",
  ...more,
});
const create = (more: Fields = {}) => submit(`/zones/${fixture.owner.zone}/new`, filled(more));
const idOf = ({ headers }: TestResponse): string =>
  /^\/configurations\/([\w-]+)/.exec(String(headers["location"]))?.[1] ?? "";

describe("a refused form shows the fault, keeps the typed values and changes nothing", () => {
  test.each([
    ["no name", { name: " " }, "Must not be empty."],
    [
      "a name with a line break",
      { name: "a\nb" },
      "Must be text that is not blank, without control characters and invisible characters",
    ],
    ["no address", { url: "" }, "Must not be empty."],
    ["no files", { source: "inline" }, "Add at least one file"],
    [
      "two files without a path",
      { source: "inline", file_path: ["", ""], file_text: ["1", "2"] },
      'Two files have the path "main.tf"',
    ],
    [
      "two files of one path",
      { source: "inline", file_path: ["a.tf", "a.tf"], file_text: ["1", "2"] },
      'Two files have the path "a.tf"',
    ],
    [
      "a path outside the directory",
      { source: "inline", file_path: ["b.tf", "../a.tf"], file_text: ["", ""] },
      '"../a.tf" is not a valid path',
    ],
    [
      "an unknown archive",
      { source: "archive", sha256: "a".repeat(64) },
      "Is not the SHA-256 of one of your archives",
    ],
    ["no archive", { source: "archive" }, "Is missing: upload an archive first."],
    ["a truncated digest", { source: "archive", sha256: "abc" }, "Must be a SHA-256 digest"],
    ["an unknown source", { source: "ftp" }, "must be git, inline or archive"],
    ["a label", { labels: "-eu" }, "Must be letters, digits and"],
    ["a label twice", { labels: "eu eu" }, "Must not name the same thing twice"],
    ["an unknown engine", { engine: "make" }, "Engine must be one of terraform, opentofu."],
    ["a time that is not a number", { timeout_seconds: "soon" }, "Must be a whole number"],
    ["an invalid version", { engine_version: "abc" }, '"abc" is not a version'],
    ["an invalid number of resources", { parallelism: "zz" }, "Must be a whole number or empty."],
    ["a time above the limit", { timeout_seconds: "9999999" }, "Must be 604800 or less"],
    [
      "an unknown identity",
      { cloud_identity_id: randomUUID() },
      "There is no such cloud identity.",
    ],
  ])("%s", async (_, fields, said) => {
    const before = await dump(plane);
    const refused = await create({ labels: "kept-label", ...(fields as Fields) });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.status).toBeLessThan(500);
    expect(words(refused)).toContain(`Nothing was changed.`);
    expect(words(refused)).toContain(said);
    expect(refused.text).toContain(
      `value="${(fields as { labels?: string }).labels ?? "kept-label"}"`,
    );
    expect(await dump(plane)).toEqual(before);
  });

  test.each([
    ["the first one, where there is none", {}, [0]],
    ["the one outside", { file_path: ["b.tf", "../a.tf"], file_text: ["", ""] }, [1]],
    ["those of one path", { file_path: ["a.tf", "b.tf", "a.tf"], file_text: ["", "", ""] }, [0, 2]],
  ])("the path that is wrong is marked: %s", async (_, fields, marked) => {
    const { text } = await create({ source: "inline", ...fields });
    expect(attributes(text, '[aria-invalid="true"]', "id")).toEqual(
      marked.map((index) => `file-path-${index}`),
    );
  });

  test("a file without a path is main.tf, and the page of the form leads to the zone", async () => {
    const id = idOf(await create({ source: "inline", file_path: "", file_text: "# empty" }));
    const { name, source } = await read(id);
    expect(source).toEqual({ type: "inline", files: { "main.tf": "# empty" } });
    const edit = await page(`/configurations/${id}/edit`);
    expect(words(edit)).toContain(`Zones / production / ${name}`);
  });

  test("a taken name, and a role that is not an ARN", async () => {
    const before = await dump(plane);
    const taken = await submit("/zones", { name: "production" });
    expect(statusAndWords(taken)).toMatch(/^409 .*The zone "production" already exists\./);
    expect(taken.text).toContain('value="production"');
    const role = await submit("/identities", { name: "x", role_arn: "arn:aws:iam::1:role/x" });
    expect([role.status, role.text]).toEqual([
      400,
      expect.stringMatching(
        /id="create-role_arn"[^>]*aria-describedby="create-role_arn-wrong[^>]*aria-invalid/,
      ),
    ]);
    expect(await dump(plane)).toEqual(before);
  });

  test("a destroy without the configuration's name", async () => {
    const id = await fixture.configure(" precious ");
    const path = `/configurations/${id}/settings/destroy`;
    const before = await dump(plane);
    for (const confirm of ["", "preciou", "PRECIOUS"]) {
      const refused = await submit(path, { job_type: "DESTROY", confirm });
      expect(statusAndWords(refused)).toMatch(/^400 .*This is not its name\./);
    }
    const odd = await submit(`/configurations/${id}/jobs`, { job_type: "DESTROY_WORKER" });
    expect(odd.status).toBe(400);
    expect(await dump(plane)).toEqual(before);
    const fields = { job_type: "DESTROY", confirm: "precious" };
    const begun = await submit(path, fields);
    const job = await fixture.read(String(begun.headers["location"]).split("/").at(-1) ?? "");
    expect(job).toMatchObject({ job_type: "DESTROY", configuration_id: id });
    await fixture.client.call("cancelJob", { params: { id: job.id } });
  });
});

describe("the forms of variables", () => {
  const set = (id: string, fields: Fields) =>
    submit(`/configurations/${id}/variables/variables`, fields);

  test("add, change and remove single variables, and keep their types", async () => {
    const id = idOf(await create());
    await fixture.client.call("updateConfiguration", {
      params: { name: id },
      body: { variables: { count: { value: 3 }, list: { value: [1] }, text: { value: "a\r\nb" } } },
    });
    expect((await set(id, { do: "add", name: "region", value: "eu" })).status).toBe(303);
    for (const [name, value] of [
      ["count", "4"],
      ["list", '["a", 2]'],
      ["text", "a\r\nb"],
      ["region", "5"],
    ] as const)
      expect((await set(id, { do: "set", name, value })).status).toBe(303);
    expect((await read(id)).variables).toEqual({
      count: { value: 4, sensitive: false },
      list: { value: ["a", 2], sensitive: false },
      text: { value: "a\r\nb", sensitive: false },
      region: { value: "5", sensitive: false },
    });
    expect((await set(id, { do: "remove", name: "list" })).status).toBe(303);
    expect(Object.keys((await read(id)).variables ?? {})).toEqual(["count", "text", "region"]);
    expect(await audit()).toMatchObject({
      action: "configuration.update",
      details: { fields: ["variables"] },
    });
    const before = await dump(plane);
    const wrong: [Fields, string][] = [
      [{ do: "add", name: "count", value: "" }, "Already exists: change that entry instead."],
      [{ do: "add", name: "1st", value: "" }, "Name Must be up to 255 letters, digits"],
      [{ do: "set", name: "list", value: "x" }, "was removed in another tab or by another user"],
      [{ do: "remove", name: "list" }, "There is no such variable any more."],
      [{ do: "set", name: "count", value: "{" }, "Begins with { but is not valid JSON"],
      [
        { do: "add", name: "account", value: '{"id":[9007199254740993]}' },
        "Cannot be kept: a number in it would lose digits: write it as text in double quotes",
      ],
    ];
    for (const [fields, said] of wrong) {
      const refused = await set(id, fields);
      expect([refused.status < 500, words(refused)]).toEqual([true, expect.stringContaining(said)]);
    }
    expect(await dump(plane)).toEqual(before);
  });

  test("never show a sensitive value, and the runner gets it", async () => {
    const id = idOf(await create());
    const shown: string[] = [];
    const send = async (fields: Fields) => {
      const answer = await set(id, fields);
      shown.push(answer.text, (await page(`/configurations/${id}/variables`)).text);
      return answer.status;
    };
    const secret = { sensitive: "on" };
    expect(await send({ do: "add", name: "no good", value: "planted-1", ...secret })).toBe(400);
    expect(await send({ do: "add", name: "key", value: "{planted-2", ...secret })).toBe(400);
    expect(await send({ do: "add", name: "key", value: "planted-3", ...secret })).toBe(303);
    // An empty sensitive value keeps the stored one. It becomes plain only with a new value.
    expect(await send({ do: "set", name: "key", value: "", ...secret })).toBe(303);
    expect(await send({ do: "set", name: "key", value: "" })).toBe(400);
    expect(await send({ do: "set", name: "key", value: "[planted-4" })).toBe(400);
    expect(await send({ do: "add", name: "other", value: "seen" })).toBe(303);
    expect(shown.filter((text) => text.includes("planted"))).toEqual([]);
    const { headers } = await addTestWorker(plane, fixture.owner);
    await fixture.queue({ job_type: "PLAN", configuration_id: id });
    const { job } = await callsOf(plane, headers).call("claimJob");
    expect(job.config_snapshot.variables).toEqual({
      key: { value: "planted-3", sensitive: true },
      other: { value: "seen", sensitive: false },
    });
  });

  test("accept only environment variables that a job may set", async () => {
    const id = idOf(await create());
    const path = `/configurations/${id}/variables/environment`;
    expect((await submit(path, { do: "add", name: "A_HOST", value: "x" })).status).toBe(303);
    expect((await submit(path, { do: "set", name: "A_HOST", value: "y" })).status).toBe(303);
    expect((await read(id)).environment).toEqual({ A_HOST: "y" });
    const refused = await submit(path, { do: "add", name: "AWS_PROFILE", value: "z" });
    expect(statusAndWords(refused)).toMatch(
      /^400 .*Name AWS_PROFILE may not be set by a job: use a cloud identity/,
    );
    expect(attributes(refused, "[aria-invalid]", "name")).toEqual(["name"]);
    const odd = await submit(path, { do: "add", name: "bad name!", value: "z" });
    expect(statusAndWords(odd)).toMatch(
      /^400 .*Name Must be up to 255 letters, digits and _, beginning with a letter or _\. Value/,
    );
    expect((await submit(path, { do: "remove", name: "A_HOST" })).status).toBe(303);
    expect((await read(id)).environment).toEqual({});
  });
});

test("the tabs of a configuration are pages, and only its first is without a tab in its title", async () => {
  const id = await fixture.configure("tabbed");
  for (const [tab, title] of [
    ["", "tabbed"],
    ["/jobs", "Jobs of tabbed"],
    ["/variables", "Variables of tabbed"],
    ["/state", "State of tabbed"],
    ["/settings", "Settings of tabbed"],
  ]) {
    const shown = await page(`/configurations/${id}${tab}`);
    expect(texts(shown, "title")).toEqual([`${title} · Windlass`]);
    expect(attributes(shown, '.tabs [aria-current="page"]')).toEqual([
      `/configurations/${id}${tab}`,
    ]);
  }
});

test("the page of a configuration lists its settings", async () => {
  const settings = async (more: Fields) => {
    const shown = words(await page(`/configurations/${idOf(await create(more))}/settings`));
    return shown.slice(shown.indexOf("Settings Source"), shown.indexOf("Time limit of a job"));
  };
  const all = { parallelism: "3", var_files: "a.tfvars\nb.tfvars", submodules: "on" };
  expect(await settings(all)).toBe(
    "Settings Source https://git.example.com/x.git at its default branch Submodules fetched too Engine Terraform, the version on the worker Working directory the top of the source State managed by the control plane Files of variables a.tfvars, b.tfvars Resources at once 3 Labels none: any worker Cloud identity none ",
  );
  expect(await settings({ backend: "" })).toMatch(
    /State decided by the next deployment: .*Files of variables none Resources at once 10 /,
  );
});

test("the page of a configuration says that the number of its resources is not known", async () => {
  const id = idOf(await create());
  const body = '{"serial":1,"lineage":"l","encrypted_data":"eA==","encryption_version":"v0"}';
  const path = `/api/cli/configurations/${id}/state/versions`;
  const { headers } = fixture;
  expect((await ask(plane, "POST", path, { headers, body })).status).toBe(201);
  const shown = async (tab = "") => words(await page(`/configurations/${id}${tab}`));
  expect(await shown()).toMatch(
    /Resources Unknown State , serial 1 Last deployment .* ago stored by \S+@example\.com/,
  );
  expect(await shown("/settings")).toContain(
    "its state records an unknown number of resources. This cannot",
  );
  expect(await shown("/state")).toContain(" not known ");
});

test("a plan leaves addresses out only with OpenTofu, and can be repeated from its page", async () => {
  const label = "Everything but these resources and modules";
  const terraform = await fixture.configure("whole");
  expect(words(await page(`/configurations/${terraform}`))).not.toContain(label);
  const id = await fixture.configure("in part");
  const tofu = { params: { name: id }, body: { engine: "opentofu" as const } };
  await fixture.client.call("updateConfiguration", tofu);
  expect(words(await page(`/configurations/${id}`))).toContain(label);
  const form = { job_type: "PLAN", options: "on", mode: "", exclude: " module.a \r\n\r\nb.c[0]" };
  const { headers } = await submit(`/configurations/${id}/jobs`, form);
  const shown = await page(String(headers["location"]));
  expect(words(shown)).toContain("This plan leaves out module.a, b.c[0], and what depends on it.");
  const refused = await submit(`/configurations/${terraform}/jobs`, form);
  expect(statusAndWords(refused)).toMatch(/^400 .*Needs OpenTofu/);
});

test("an edit changes and records only what was changed", async () => {
  const id = idOf(await create({ ref: "main", labels: "eu" }));
  const known = await read(id);
  const same = filled({ name: known.name, zone_id: known.zone_id, ref: "main", labels: "eu" });
  expect((await submit(`/configurations/${id}/edit`, same)).status).toBe(303);
  expect(await read(id)).toEqual(known);
  const edited = { ...same, ref: "v2", labels: "eu,gpu" };
  expect((await submit(`/configurations/${id}/edit`, edited)).status).toBe(303);
  expect(await read(id)).toMatchObject({ source: { ref: "v2" }, labels: ["eu", "gpu"] });
  expect((await audit())?.details).toEqual({ fields: ["source", "labels"] });
});

test("jobs and state versions are listed in pages, and a zone can be renamed and deleted", async () => {
  const made = await submit("/zones", { name: "short-lived" });
  const zone = String(made.headers["location"]);
  expect((await submit(zone, { name: "renamed" })).headers["location"]).toBe(zone);
  expect(words(await page("/zones"))).toContain("renamed 0");
  const id = await fixture.configure("long history");
  for (let job = 0; job < 22; job += 1) {
    const { id: one } = await fixture.queue({ job_type: "PLAN", configuration_id: id });
    await fixture.client.call("cancelJob", { params: { id: one } });
  }
  await writeState(plane, fixture, id);
  const first = (await page(`/configurations/${id}/jobs`)).text;
  const older = /href="(\/configurations\/[\w-]+\/jobs\?before=[\w-]+)"/.exec(first)?.[1] ?? "";
  const rest = (await page(older)).text;
  const rows = (text: string) => text.match(/href="\/jobs\/[\w-]+">\s*(PLAN|DEPLOY)/g)?.length;
  expect([rows(first), rows(rest)]).toEqual([20, 3]);
  expect(rest).not.toContain("?before=");
  const oldest = await page(`/configurations/${id}/state?before=2`);
  expect(words(oldest)).toContain("Roll back to 1");
  expect(words(oldest)).not.toContain("Roll back to 2");
  const removed = await submit(`${zone}/delete`, {});
  expect(removed.headers["location"]).toBe("/zones");
  expect((await page(zone)).status).toBe(404);
  const kept = await submit(`/zones/${fixture.owner.zone}/delete`, {});
  expect(statusAndWords(kept)).toMatch(/^409 .*The zone still has configurations\./);
});

test("all outputs are shown, a sensitive one by its name only", async () => {
  const id = await fixture.configure("with outputs");
  const deploy = async (execution_metadata: object): Promise<string> => {
    await fixture.run({ job_type: "DEPLOY", configuration_id: id }, "SUCCESS", {
      execution_metadata,
    });
    return words(await page(`/configurations/${id}`));
  };
  const outputs = {
    cluster_endpoint: { type: "string", value: "https://<b>.example.com", sensitive: false },
    sizes: { type: ["list", "number"], value: [1, 2], sensitive: false },
    admin_password: { type: "string", sensitive: true },
  };
  expect(await deploy({ outputs })).toContain(
    "admin_password sensitive: not kept here cluster_endpoint https://<b>.example.com sizes [1,2]",
  );
  const all = await deploy({
    outputs,
    cluster_name: "eu-1",
    cluster_endpoint: "https://c.example",
  });
  expect(all).toContain("cluster_name eu-1");
  expect(all.match(/cluster_endpoint/g)).toHaveLength(1);
});

test("the text of inline files is on the page up to a size limit", async () => {
  const file = (length: number) => ({
    source: "inline",
    file_path: "big.tf",
    file_text: "#".repeat(length),
  });
  const small = await page(`/configurations/${idOf(await create(file(60_000)))}/settings`);
  const big = await page(`/configurations/${idOf(await create(file(70_000)))}/settings`);
  expect([small.body.length > 60_000, big.body.length < 30_000]).toEqual([true, true]);
  expect(words(big)).toContain("big.tf");
});

test("a trust policy names the role's account or the given principal, which must be an ARN", async () => {
  const fields = { name: "trusted", role_arn: "arn:aws:iam::123456789012:role/path/x" };
  const made = String((await submit("/identities", fields)).headers["location"]);
  const policyIn = ({ body }: TestResponse) =>
    /id="policy"[^>]*>([^<]*)</.exec(body.toString())?.[1]?.replaceAll("&quot;", '"');
  const own = await page(made);
  expect(JSON.parse(policyIn(own) ?? "")).toMatchObject({
    Statement: [{ Principal: { AWS: "arn:aws:iam::123456789012:root" } }, {}],
  });
  for (const principal of ["*", "123456789012", '"}'])
    expect(policyIn(await page(`${made}?principal=${encodeURIComponent(principal)}`))).toBe(
      undefined,
    );
  const renamed = await submit(made, { ...fields, name: "renamed", role_arn: "no" });
  expect(renamed).toMatchObject({ status: 400, text: expect.stringContaining('value="renamed"') });
  const plan_role_arn = "arn:aws:iam::123456789012:role/read";
  expect((await submit(made, { ...fields, name: "renamed", plan_role_arn })).status).toBe(303);
  expect(words(await page(made))).toContain(`Plans act as ${plan_role_arn}`);
  expect((await submit(made, { ...fields, name: "renamed" })).status).toBe(303);
  expect(words(await page(made))).not.toContain(plan_role_arn);
  const id = made.split("/").at(-1) ?? "";
  // The fields of other providers are in the form too, hidden or not.
  const vault = {
    name: "vault",
    provider: "vault",
    address: "https://vault.invalid",
    role: "deploy",
  };
  const all = { ...vault, role_arn: "x", plan_role: "", mount: "", subject: "zone" };
  const other = String((await submit("/identities", all)).headers["location"]);
  expect(words(await page(other))).toContain("Mount jwt Audience https://vault.invalid");
  expect(policyIn(await page(other))).toContain('role_name       = "deploy"');
  const change = { ...vault, mount: "team/jwt", plan_role: "plan", subject: "zone", audience: "" };
  expect((await submit(other, change)).status).toBe(303);
  expect(words(await page(other))).toMatch(/Plans act as plan .* Mount team\/jwt .* names zone/);
  expect(await submit(other, { ...change, address: "vault" })).toMatchObject({ status: 400 });
  expect((await submit("/identities", { name: "x", provider: "moon" })).status).toBe(400);
  const user = idOf(await create({ cloud_identity_id: id }));
  expect(words(await page(made))).toMatch(
    /It cannot be deleted while it is in use\. .* settings of the configuration "[^"]+" first\./,
  );
  const kept = await submit(`${made}/delete`, {});
  expect(statusAndWords(kept)).toMatch(
    /^409 .*The cloud identity "renamed" is used by the configuration "/,
  );
  await submit(`/configurations/${user}/settings/delete`, {});
  expect((await submit(`${made}/delete`, {})).headers["location"]).toBe("/identities");
});

test("foreign origins, other content types and prototype names are refused and change nothing", async () => {
  const before = await dump(plane);
  const foreign = { ...fixture.headers, origin: "https://evil.example" };
  expect((await submit("/zones", { name: "evil" }, foreign)).status).toBe(403);
  const json = { ...fixture.headers, "content-type": "application/json" };
  const sent = await ask(plane, "POST", "/zones", { headers: json, body: '{"name":"json"}' });
  expect(sent.status).toBe(415);
  for (const fields of [{ __proto__: null, toString: "x" }, { constructor: "x" }] as Fields[])
    expect((await submit("/zones", fields)).status).toBe(400);
  expect(await dump(plane)).toEqual(before);
});
