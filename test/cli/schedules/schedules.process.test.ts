/** Schedules and the end of a configuration in the client. */
import { expect, test } from "vitest";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { Schedule } from "../../../protocol/schedules.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addSpec } from "../../helpers/plane/rows.ts";
import { setRows } from "../../helpers/plane/plane.ts";

const { plane } = planeForFile();

async function machine() {
  const ada = await userMachine(plane);
  const { owner } = ada.user;
  const spec = await addSpec(plane.context.store, owner);
  await setRows(plane, "specs", { name: "lab" }, { id: spec });
  const zone = await ada.json<{ name: string }[]>("zones", "list");
  return { ada, owner, spec, zone: zone[0]!.name };
}

const at = (...words: string[]) => ["schedules", ...words];

test("a schedule is made, listed, changed, run and deleted", async () => {
  const { ada, zone } = await machine();
  await using _ = ada;
  const none = await ada.run(...at("list"));
  expect(none.stderr).toContain("windlass schedules create --help");
  const base = at("create", "nightly", "--kind", "drift", "--cron", "30 2 * * 1-5");
  for (const [words, says] of [
    [["--zone", zone, "--configuration", "lab"], "Pass --configuration or --zone, not both"],
    [[], "Say what it runs: --configuration NAME or --zone NAME"],
    [["--zone", zone, "--window", "2d"], "--window must be a whole number from 0 to 1440"],
    [["--zone", zone, "--starts", "soon"], "--starts must be none, or a time such as 7d"],
    [["--zone", zone, "--timezone", "Mars/Olympus"], "must be a name of the IANA database"],
    [["--zone", zone, "--cron", "@daily"], "--cron must have five fields"],
  ] as const) {
    const refused = await ada.run(...base, ...words);
    expect([words, refused.exitCode]).toEqual([words, 2]);
    expect(refused.stderr).toContain(says);
  }
  const words = ["--zone", zone, "--timezone", "Asia/Tokyo", "--window", "60"];
  const made = await ada.run(...base, ...words, "--starts", "2030-07-01T00:00Z");
  expect(made).toMatchObject({ exitCode: 0 });
  expect(made.stdout).toMatch(
    /^comes +Monday to Friday at 02:30 \(30 2 \* \* 1-5\), Asia\/Tokyo$/m,
  );
  expect(made.stdout).toMatch(/^of +zone \S+$/m);
  expect(made.stdout).toMatch(/^starts +2030-07-01 09:00 Asia\/Tokyo$/m);
  expect(made.stdout).toMatch(/^next +2030-07-02 02:30 Asia\/Tokyo \(in \d+d.*\)$/m);
  const [it] = await ada.json<Schedule[]>(...at("list", "--zone", zone));
  expect(it).toMatchObject({ name: "nightly", window_minutes: 60, enabled: true });
  // The configuration is in the zone.
  expect(await ada.json(...at("list", "--configuration", "lab"))).toEqual([it]);
  const table = await ada.run(...at("list"));
  expect(table.stdout).toMatch(/^nightly +drift +zone \S+ +30 2 \* \* 1-5 Asia\/Tokyo +in \d+d/m);

  const changed = ["--disable", "--configuration", "lab", "--kind", "plan", "--starts", "none"];
  const off = await ada.run(...at("update", "nightly", ...changed, "--rename", "plans"));
  expect(off.stdout).toMatch(/^of +lab$[^]*^next +disabled$/m);
  expect(await ada.json<Schedule>(...at("show", "plans"))).toMatchObject({
    kind: "plan",
    starts_at: null,
    enabled: false,
  });
  expect(await ada.run(...at("update", "plans"))).toMatchObject({ exitCode: 2 });
  const both = await ada.run(...at("update", "plans", "--enable", "--disable"));
  expect(both.stderr).toContain("not both");

  const first = await ada.run(...at("run", "plans"));
  expect(first.stdout).toMatch(/^last +queued .* UTC/m);
  const [, job] = /windlass jobs logs (\S+) --follow/.exec(String(first.stderr))!;
  expect(await ada.json("jobs", "show", job!)).toMatchObject({ created_by: "plans (schedule)" });
  const second = await ada.run(...at("run", "plans"));
  expect(second).toMatchObject({ exitCode: 1 });
  expect(second.stderr).toContain("Nothing was queued: an earlier run of the schedule still waits");

  expect(await ada.run(...at("delete", "plans"))).toMatchObject({ exitCode: 2 });
  expect(await ada.run(...at("delete", "plans", "--yes"))).toMatchObject({
    exitCode: 0,
    stderr: 'The schedule "plans" is deleted.',
  });
  const gone = await ada.run(...at("show", "plans"));
  expect(gone.stderr).toContain('There is no schedule "plans"');
});

test("a configuration that expires says when, warns a day before, and can be kept", async () => {
  const { ada, spec } = await machine();
  await using _ = ada;
  const update = ["configurations", "update", "lab", "--expires-at"];
  const far = await ada.run(...update, "7d");
  expect(far.stdout).toMatch(/^expires +\S+ \S+ UTC\S* \(in (7d|6d 23h)\)$/m);
  expect(far.stderr).toBe("");
  await setRows(plane, "specs", { status: "DEPLOYED" }, { id: spec });
  const near = await ada.run(...update, "90m");
  const warning = /^What "lab" has deployed will be destroyed .* \(in 1h .*--expires-at none$/m;
  expect(near.stderr).toMatch(warning);
  expect((await ada.run("configurations", "list")).stderr).toMatch(warning);
  expect((await ada.run(...update, "2020-01-01")).stderr).toContain(
    "--expires-at must be in the future",
  );
  await setRows(plane, "specs", { expires_at: Date.parse("2026-01-01T00:00Z") }, { id: spec });
  const passed = await ada.run("configurations", "show", "lab");
  expect(passed.stdout).toMatch(/^expires +2026-01-01 .* ago\): it has passed$/m);
  expect(passed.stderr).toBe("");
  expect((await ada.run(...update, "none")).stdout).not.toContain("expires");
  expect(await ada.json<Configuration>("configurations", "show", "lab")).toMatchObject({
    expires_at: null,
  });
});
