import { expect, test } from "vitest";
import { registrationPage } from "../../../../control-plane/console/workers/worker-setup-page.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { attributes, submit, texts, words } from "../../../helpers/console/forms.ts";
import { ask, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addPerson, openTeam } from "../../../helpers/people/teams.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

test("a worker is shown with the jobs that it holds, not with those of its last heartbeat", async () => {
  const fixture = await openSampleUser(plane);
  const { headers, worker: id } = fixture;
  const shown = async () =>
    / (\d of 2) /.exec(words(await ask(plane, "GET", "/workers", { headers })))?.[1];
  const configuration_id = await fixture.configure("held");
  await fixture.queue({ job_type: "PLAN", configuration_id });
  expect(await shown()).toBe("0 of 2");
  const job = await fixture.start();
  expect(await shown()).toBe("1 of 2");
  // Its removal says what would be lost.
  const page = async () => words(await ask(plane, "GET", `/workers/${id}`, { headers }));
  expect(await page()).toMatch(
    /It has 1 job now: PLAN held Jobs that it has when it is removed count as lost/,
  );
  await setRows(plane, "workers", { active_job_ids: JSON.stringify([job]) }, { id });
  await fixture.end(job, "SUCCESS");
  expect(await shown()).toBe("0 of 2");
  expect(await page()).toContain(
    "It has no job now. Jobs that it has when it is removed count as lost",
  );
});

test("a worker that never started is not one that went offline, and its page says how to start it", async () => {
  const { headers, worker: seen } = await openSampleUser(plane);
  const { worker_id: id } = await callsOf(plane, headers).call("createWorker", {
    body: { name: "new" },
  });
  const read = async (path: string) => words(await ask(plane, "GET", path, { headers }));
  expect(await read(`/workers/${id}`)).toMatch(
    /new REGISTERED Drain: take no new jobs Edit Its runner has not started yet\./,
  );
  await setRows(plane, "workers", { offline_at: Date.now() }, { id });

  expect(await read("/workers")).toContain("new Never started 0 – – – never: start its runner");
  expect(await read("/")).not.toContain("Needs you");
  const page = await read(`/workers/${id}`);
  expect(page).toMatch(
    /new Never started Drain: take no new jobs Edit Its runner has never started\./,
  );
  expect(page).toContain(`WINDLASS_URL=${plane.url} WINDLASS_WORKER_ID=${id} \\ `);
  expect(page).not.toMatch(/Offline|No heartbeat/);

  await setRows(plane, "workers", { offline_at: Date.now() }, { id: seen });
  expect(await read("/")).toMatch(/Needs you 1 \S+ The worker is offline: last seen /);
  expect(await read(`/workers/${seen}`)).toMatch(
    /Offline Drain: take no new jobs Edit No heartbeat for .*doctor/,
  );
});

test("a worker shows its last runs, of the reader's space only, and that it is ephemeral", async () => {
  const fixture = await openSampleUser(plane);
  const configuration_id = await fixture.configure("runs");
  for (const status of ["SUCCESS", "FAILED"] as const)
    await fixture.run({ job_type: "PLAN", configuration_id }, status, { error_message: "no" });
  const list = await fixture.page("/workers");
  expect(texts(list, ".short-strip title")).toEqual(["Last runs: 1 of 2 succeeded, 1 failed"]);
  const path = `/workers/${fixture.worker}`;
  const page = await fixture.page(path);
  expect(words(page)).toContain("Last 2 runs 1 of 2 succeeded, 1 failed");
  expect(attributes(page, "figure a")).toHaveLength(2);
  expect(words(page)).not.toContain("Ephemeral");
  const other = await openSampleUser(plane);
  await setRows(plane, "workers", { owner_id: null, mode: "cloud-hosted" }, { id: fixture.worker });
  expect(attributes(await other.page(path), "figure a")).toEqual([]);

  const { registration_token } = await other.client.call("createRegistrationToken", {
    body: { ephemeral: true },
  });
  const headers = { "x-registration-token": registration_token };
  await ask(plane, "POST", "/api/workers/register", { headers, json: { name: "in a pod" } });
  expect(words(await other.page("/workers"))).toContain("in a pod Ephemeral ");
});

test("a new worker can be started from a checkout, and a container is warned of an address that is its own", async () => {
  const { headers } = await openSampleUser(plane);
  const page = words(await submit(plane, "/workers/register", {}, headers));
  expect(page).toContain(`WINDLASS_URL=${plane.url} bin/windlass agent`);
  const note = "In a container, this address is the container itself";
  expect(page).toContain(note);
  const token = { registration_token: "wlr_x", expires_at: new Date().toISOString(), uses_left: 1 };
  expect(registrationPage(token, "https://windlass.example.com").text).not.toContain(note);
});

test("open registration tokens of a team are listed and revoked by its admins", async () => {
  const team = await openTeam(plane);
  const { admin, slug } = team;
  const path = `/workers?team=${slug}`;
  expect(words(await admin.page(path))).not.toContain("Open registration tokens");
  await admin.post(`/workers/register?team=${slug}`);
  const listed = await admin.page(path);
  const [, id = ""] = /name="id" value="([0-9a-f]{16})"/.exec(listed.text) ?? [];
  expect(words(listed)).toContain(` ${id} 1 worker 0 s ago `);
  expect((await (await addPerson(plane, team, "deployer")).page(path)).text).not.toContain(id);
  const revoke = () => admin.post(`/workers/revoke-token?team=${slug}`, { id });
  const { status, headers } = await revoke();
  expect([status, headers["location"]]).toEqual([303, path]);
  expect((await admin.page(path)).text).not.toContain(id);
  const again = await revoke();
  expect([again.status, words(again)]).toEqual([
    404,
    expect.stringContaining("There is no such registration token."),
  ]);
});
