/** Forms that no page would send: for another user's data, and malformed ones. */
import { beforeAll, expect, test } from "vitest";
import { callsOf } from "../../helpers/plane/calls.ts";
import { dump } from "../../helpers/store/store-dump.ts";
import { seeded } from "../../helpers/plane/hostile-values.ts";
import { addSamplePages } from "../../helpers/console/sample-pages.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
let places: Record<string, string>;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
  places = await addSamplePages(plane, fixture);
});
// `planeForFile` fails the file if the server logs an error.

/** Every form of a zone, a configuration, an identity and a variable set, with valid values. */
function forms(): [path: string, fields: Record<string, string>][] {
  const { zone = "", configuration = "", identity = "", "variable-set": set = "" } = places;
  const { connection = "", "pull-request": pull = "" } = places;
  const id = set.split("/")[2] ?? "";
  const whole = {
    name: "x",
    source: "git",
    url: "https://git.example.com/x.git",
    engine: "terraform",
    backend: "managed",
  };
  return [
    [zone, { name: "x" }],
    [`${zone}/new`, whole],
    [`${zone}/delete`, {}],
    [`${places["zone-empty"]}/delete`, {}],
    [`${configuration}/edit`, whole],
    [`${configuration}/jobs`, { job_type: "PLAN" }],
    [`${configuration}/variables/variables`, { do: "add", name: "x", value: "x" }],
    [`${configuration}/variables/environment`, { do: "add", name: "x", value: "x" }],
    [`${configuration}/settings/destroy`, { job_type: "DESTROY", confirm: "shop-api" }],
    [`${configuration}/state/1/rollback`, {}],
    [`${configuration}/state/unlock`, {}],
    [`${places["configuration-fresh"]}/settings/delete`, {}],
    [identity, { name: "x", role_arn: "arn:aws:iam::123456789012:role/x" }],
    [`${identity}/delete`, {}],
    [connection, { name: "x" }],
    [`${connection}/check`, {}],
    [`${connection}/webhooks`, { repository: "owner/name" }],
    [`${connection}/rotate`, { overlap_seconds: "0" }],
    [`${connection}/delete`, {}],
    [`${pull}/approve`, { commit: "a".repeat(40) }],
    [`${configuration}/settings/follow`, { end: "on" }],
    [`${zone}/variable-sets`, { do: "detach", set: id }],
    [`${configuration}/variables/variable-sets`, { do: "attach", set: id }],
    [set, { name: "x" }],
    [`${set}/variables`, { do: "add", name: "x", value: "x" }],
    [`${set}/environment`, { do: "add", name: "x", value: "x" }],
    [`${set}/zones`, { do: "detach", zone: zone.split("/")[2] ?? "" }],
    [`${set}/configurations`, { do: "attach", configuration: "payments" }],
    [`${places["variable-set-empty"]}/delete`, {}],
  ];
}

test("forms for another user's data return 404 and change nothing", async () => {
  const other = await openSampleUser(plane);
  const before = await dump(plane);
  for (const [path, fields] of forms()) {
    const { status, body } = await other.post(path, new URLSearchParams(fields).toString());
    expect([path, status, body.toString().includes("payments")]).toEqual([path, 404, false]);
  }
  for (const path of Object.values(places).filter((one) => one.split("/").length > 2))
    expect([path, (await other.page(path)).status]).toEqual([path, 404]);
  // A user's own configuration cannot refer to another user's identity or zone either.
  const own = await other.configure("own");
  const id = (place: string): string => (places[place] ?? "").split("/")[2] ?? "";
  const known = { source: "inline", file_path: "main.tf", name: "own", engine: "terraform" };
  for (const stolen of [
    { cloud_identity_id: id("identity"), zone_id: other.owner.zone },
    { zone_id: id("zone") },
  ]) {
    const fields = new URLSearchParams({ ...known, backend: "managed", ...stolen });
    const { status } = await other.post(`/configurations/${own}/edit`, fields.toString());
    expect(status).toBe(404);
  }
  const read = await callsOf(plane, other.headers).call("getConfiguration", {
    params: { name: own },
  });
  expect(read).toMatchObject({ zone_id: other.owner.zone, cloud_identity_id: null });
  expect((await dump(plane)).filter((row) => before.includes(row))).toEqual(before);
});

test("malformed forms are refused with a page and without a server error", async () => {
  const pieces = [
    "%",
    "%ff",
    "%ed%a0%80",
    "%00",
    "=",
    "&",
    "&&",
    "+",
    "name",
    "name=",
    "name[]=x",
    "__proto__=x",
    "constructor=x",
    "toString=x",
    "file_path=",
    "file_text=%0d%0a",
    "file_removed=x",
    "source=inline",
    "source=archive",
    "source=git",
    "value=%5b%5b",
    "do=set",
    "do=remove",
    "do=",
    "sensitive=on",
    "name=__proto__",
    "name=region",
    "timeout_seconds=1e400",
    "labels=%00",
    "url=%0a",
    "job_type=PLAN",
    `name=${"n".repeat(5000)}`,
    "file_path=a.tf&".repeat(300),
  ];
  const random = seeded(7);
  const targets = forms().filter(
    ([path]) => !/(delete|unlock|rollback|rotate|check|webhooks)$/.test(path),
  );
  targets.push(["/zones", {}], ["/identities", {}], ["/variable-sets", {}]);
  for (let round = 0; round < 25; round += 1)
    for (const [path, fields] of targets) {
      const chosen = Array.from({ length: 1 + Math.floor(random() * 5) }, () => {
        const piece = pieces[Math.floor(random() * pieces.length)];
        return piece ?? "";
      });
      const right = random() < 0.5 ? new URLSearchParams(fields).toString() : "";
      const body = [right, ...chosen].join("&");
      const { status, headers } = await fixture.post(path, body);
      expect([path, body, status < 500, headers["content-type"] ?? "none"]).toEqual([
        path,
        body,
        true,
        expect.stringMatching(/^(none|text\/html)/),
      ]);
      expect(status === 303 || status >= 400).toBe(true);
    }
});
