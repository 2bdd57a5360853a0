/** The pages of schedules and of the end of a configuration. */
import { expect } from "vitest";
import type { Schedule } from "../../../../protocol/schedules.ts";
import { attributes, dom, words } from "../../../helpers/console/forms.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { readRow, setRows } from "../../../helpers/plane/plane.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane, it } = planeForFile();
const hour = 3_600_000;

const fields = (changes: Record<string, string> = {}) => ({
  name: "nightly",
  kind: "drift",
  place: "",
  cron: "30 2 * * 1-5",
  timezone: "Asia/Tokyo",
  window_minutes: "60",
  starts_at: "2030-07-01T09:00",
  ends_at: "",
  ...changes,
});

it("is shown before it is saved, made, changed, switched, run and deleted", async () => {
  const user = await openSampleUser(plane);
  const { zone } = user.owner;
  const list = async (): Promise<Schedule[]> => (await user.client.call("listSchedules")).schedules;
  expect(words(await user.page("/schedules"))).toContain("No schedule yet Check every night");
  const empty = await user.page(`/schedules/new?place=zone:${zone}`);
  expect(attributes(empty, "option[selected]", "value")).toEqual([`zone:${zone}`]);
  expect(attributes(empty, "input[name=timezone]", "value")).toEqual(["UTC"]);
  expect(attributes(empty, "datalist option", "value")).toContain("Asia/Kolkata");

  // Neither a name nor a target is needed to see when it comes.
  const preview = await user.post("/schedules/new", fields({ name: "", preview: "on" }));
  expect(words(preview)).toContain("Monday to Friday at 02:30, Asia/Tokyo. Nothing is saved yet.");
  expect(words(preview)).toMatch(/Tue 2030-07-02 02:30 in .* Mon 2030-07-08 02:30 in /);
  expect(words(preview)).toContain("Its jobs are spread over 60 minutes from then on.");
  expect(attributes(preview, "input[name=cron]", "value")).toEqual(["30 2 * * 1-5"]);
  const never = fields({ cron: "@daily", preview: "on" });
  expect(words(await user.post("/schedules/new", never))).toContain("Must have five fields:");
  expect(await list()).toEqual([]);

  await user.post("/schedules/new", fields({ place: `zone:${zone}` }));
  const [made] = await list();
  expect(made).toMatchObject({
    zone_id: zone,
    window_minutes: 60,
    // Nine o'clock in Tokyo.
    starts_at: "2030-07-01T00:00:00.000Z",
    next_at: "2030-07-01T17:30:00.000Z",
  });
  const path = `/schedules/${made!.id}`;
  const page = await user.page(path);
  expect(words(page)).toMatch(/nightly Active Drift check of zone \S+ /);
  expect(words(page)).toContain("not before Mon 2030-07-01 09:00");
  expect(attributes(page, "input[name=starts_at]", "value")).toEqual(["2030-07-01T09:00"]);
  // Most schedules of a space have one time zone.
  const next = await user.page("/schedules/new");
  expect(attributes(next, "input[name=timezone]", "value")).toEqual(["Asia/Tokyo"]);

  const spec = await user.configure("lab");
  const changed = fields({ place: `configuration:${spec}`, kind: "plan", starts_at: "" });
  expect(words(await user.post(path, { ...changed, preview: "on" }))).toContain("Next runs Monday");
  expect(await list()).toEqual([made]);
  await user.post(path, changed);
  expect(await list()).toMatchObject([
    { configuration_id: spec, zone_id: null, kind: "plan", starts_at: null },
  ]);
  const [seen = ""] = attributes(page, "form.by-kind input[name=seen]", "value");
  expect((await user.post(path, { ...changed, seen })).status).toBe(409);

  await user.post(`${path}/disable`);
  expect(words(await user.page(path))).toContain("nightly Disabled");
  await user.post(`${path}/enable`);
  expect((await user.post(`${path}/run`)).headers.location).toMatch(/^\/jobs\//);
  const again = await user.post(`${path}/run`);
  expect(words(again)).toContain(
    "Nothing was queued: An earlier run of the schedule still waits or runs.",
  );
  expect(words(await user.page("/schedules"))).toMatch(
    /nightly Skipped Plan lab Monday to Friday at 02:30, Asia\/Tokyo in .* Skipped /,
  );
  expect(words(await user.page("/"))).toContain("nightly The schedule skipped its run");
  await user.post(`${path}/delete`);
  expect(await list()).toEqual([]);
});

it("keeps the bounds, the runs that wait and the author where only the name changes", async () => {
  const user = await openSampleUser(plane);
  const bounds = {
    // The clock shows 02:30 for the second time that night.
    starts_at: "2030-10-27T01:30:40.000Z",
    ends_at: "2031-01-01T00:00:59.999Z",
  };
  const { id } = await user.client.call("createSchedule", {
    body: {
      ...bounds,
      name: "nightly",
      kind: "drift",
      zone_id: user.owner.zone,
      cron: "30 2 * * 1-5",
      timezone: "Europe/Berlin",
    },
  });
  const kept = { author_id: null, spread_to: user.owner.zone };
  await setRows(plane, "schedules", kept, { id });
  const form = dom(await user.page(`/schedules/${id}`)).querySelector("form.by-kind")!;
  const value = (name: string) =>
    form.querySelector(`input[name=${name}]`)?.getAttribute("value") ?? "";
  const shown = fields({
    place: `zone:${user.owner.zone}`,
    window_minutes: "",
    timezone: "Europe/Berlin",
    seen: value("seen"),
    starts_at: value("starts_at"),
    ends_at: value("ends_at"),
  });
  expect(shown.starts_at).toBe("2030-10-27T02:30");
  const save = async (change: Record<string, string>) => {
    expect((await user.post(`/schedules/${id}`, { ...shown, ...change })).status).toBe(303);
    return user.client.call("getSchedule", { params: { id } });
  };
  expect(await save({ name: "renamed" })).toMatchObject({ ...bounds, name: "renamed" });
  expect(await readRow(plane, "schedules", { id })).toMatchObject(kept);
  // A time of another clock is another moment.
  expect(await save({ seen: "", timezone: "UTC" })).toMatchObject({
    starts_at: "2030-10-27T02:30:00.000Z",
  });
  expect(await readRow(plane, "schedules", { id })).toMatchObject({ author_id: user.id });
});

it("is refused with the field that is wrong, and keeps what was entered", async () => {
  const user = await openSampleUser(plane);
  const refusals: readonly (readonly [Record<string, string>, string])[] = [
    [{}, "Choose a zone or a configuration."],
    [{ place: "zone:01900000-0000-7000-8000-000000000000" }, "zone"],
    [{ window_minutes: "2000" }, "Must be 1440 or less."],
    [{ window_minutes: "an hour" }, "Must be a whole number."],
    [{ timezone: "Mars/Olympus" }, "Must be a name of the IANA database"],
    [{ starts_at: "2030-02-30T00:00" }, "Must be a time with its zone"],
    [{ ends_at: "2001-01-01T00:00" }, "Is before the schedule comes for the first time."],
    [{ name: "" }, "Must not be empty."],
  ];
  for (const [change, says] of refusals) {
    const place = `zone:${user.owner.zone}`;
    const sent = fields(
      change["place"] === undefined && says.startsWith("Choose") ? {} : { place },
    );
    const refused = await user.post("/schedules/new", { ...sent, ...change });
    expect([change, refused.status]).toEqual([change, change["place"] ? 404 : 400]);
    expect(words(refused)).toContain(says);
    expect(attributes(refused, "input[name=cron]", "value")).toEqual(["30 2 * * 1-5"]);
  }
  expect((await user.client.call("listSchedules")).schedules).toEqual([]);
});

it("is listed by its zone and its configuration, and on their pages", async () => {
  const user = await openSampleUser(plane);
  const { zone } = user.owner;
  const spec = await user.configure("lab");
  const other = await user.configure("other");
  for (const [name, place] of [
    ["of the zone", `zone:${zone}`],
    ["own", `configuration:${spec}`],
    ["of another", `configuration:${other}`],
  ] as const)
    await user.post("/schedules/new", fields({ name, place }));
  const names = async (path: string) =>
    String((await user.page(path)).body).match(/(?<=<a href="\/schedules\/[^n"][^"]*"\s*>)[^<]+/g);
  expect(await names("/schedules")).toEqual(["of another", "own", "of the zone"]);
  expect(await names(`/schedules?place=configuration:${spec}`)).toEqual(["own", "of the zone"]);
  expect(await names(`/schedules?place=zone:${zone}`)).toEqual(["of the zone"]);
  expect(await names("/schedules?place=nothing")).toHaveLength(3);
  expect(await names(`/configurations/${spec}`)).toEqual(["own", "of the zone"]);
  expect(await names(`/zones/${zone}`)).toEqual(["of the zone"]);
});

it("a configuration gets an end, which is told of a day before and after it has passed", async () => {
  const user = await openSampleUser(plane);
  const spec = await user.configure("lab");
  const settings = `/configurations/${spec}/settings`;
  expect(words(await user.page(settings))).toContain("stays until a person destroys it");
  const past = await user.post(`${settings}/expiry`, { expires_at: "2020-01-01T00:00" });
  expect(past.status).toBe(400);
  expect(words(past)).toContain("Must be in the future, and at most ten years ahead.");
  const at = new Date(plane.context.now() + 5 * hour).toISOString().slice(0, 16);
  await user.post(`${settings}/expiry`, { expires_at: at });
  const { expires_at } = await user.client.call("getConfiguration", { params: { name: spec } });
  expect(expires_at).toBe(`${at}:00.000Z`);
  expect(attributes(await user.page(settings), "[name=expires_at]", "value")).toEqual([at]);
  // Nothing is deployed that could be destroyed.
  expect(words(await user.page(`/configurations/${spec}`))).not.toContain("will be destroyed");
  expect(words(await user.page("/"))).not.toContain("It expires");

  await setRows(plane, "specs", { status: "DEPLOYED" }, { id: spec });
  expect(words(await user.page(`/configurations/${spec}`))).toMatch(
    /What is deployed will be destroyed in 4.h.\d+.min ?\. Change when/,
  );
  expect(words(await user.page("/"))).toContain("lab It expires: what is deployed will be");

  const last_at = plane.context.now() - hour;
  const skipped = { moment: null, last_at, last_skipped: "no room in the queue" };
  await setRows(plane, "schedules", skipped, { id: spec });
  await setRows(plane, "specs", { expires_at: last_at }, { id: spec });
  expect(words(await user.page("/"))).toMatch(
    /lab It expired 1.h ago ?, but nothing was destroyed\. ?no room in the queue/,
  );
  expect(words(await user.page(`/configurations/${spec}`))).toMatch(/Expired 1 h/);
  expect(words(await user.page(settings))).toContain("The time has passed:");
  await user.post(`${settings}/expiry`, { expires_at: "" });
  expect(words(await user.page("/"))).not.toContain("It expired");
});
