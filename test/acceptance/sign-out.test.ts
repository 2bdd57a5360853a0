import { expect, test } from "vitest";
import { openPerson } from "../helpers/people/sign-in.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { readRow } from "../helpers/plane/plane.ts";

const { plane } = planeForFile();
const env = () => ({ env: { WINDLASS_DATA_DIR: plane.directory } });

test("windlass server logins lists people, and sign-out ends all logins of one of them", async () => {
  const ada = await openPerson(plane, "ada@example.com");
  const eve = await openPerson(plane, "eve@example.com");
  const listed = await windlass(["server", "logins"], env());
  expect(String(listed.stdout).split("\n").toSorted()).toEqual([
    expect.stringMatching(/^ada@example\.com\t1 browser, 0 client\t20\S+Z\tlogin link$/),
    expect.stringMatching(/^eve@example\.com\t1 browser, 0 client\t20\S+Z\tlogin link$/),
  ]);
  const out = await windlass(["server", "sign-out", "--email", "Ada@Example.com"], env());
  expect([out.exitCode, out.stdout]).toEqual([0, "Ended 1 login of ada@example.com"]);
  expect((await ada.page("/settings")).status).toBe(303);
  expect((await eve.page("/settings")).status).toBe(200);
  const entry = await readRow(plane, "audit_entries", {
    action: "user.sign_out",
    owner_id: ada.id,
  });
  expect(entry).toMatchObject({ actor_kind: "operator", details: '{"logins":1}' });
  const none = await windlass(["server", "sign-out", "--email", "grace@example.com"], env());
  expect([none.exitCode, none.stderr]).toEqual([
    1,
    "windlass server sign-out: no user has the address grace@example.com",
  ]);
  const wrong = await windlass(["server", "sign-out", "--email", "grace"], env());
  expect(wrong.exitCode).toBe(2);
});
