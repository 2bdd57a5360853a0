/** `windlass configurations list`. */
import { expect, test } from "vitest";
import type { Configuration, Zone } from "../../../protocol/configurations.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("lists those of one zone, and says if it has none or does not exist", async () => {
  await using ada = await userMachine(plane);
  const source = { type: "inline", files: { "main.tf": "" } } as const;
  for (const name of ["eu", "us", "empty"]) await ada.json<Zone>("zones", "create", name);
  const zones = await ada.json<Zone[]>("zones", "list");
  for (const name of ["eu", "us"])
    await ada.user.configure({
      name: `network-${name}`,
      source,
      zone_id: zones.find((one) => one.name === name)!.id,
    });
  const list = ["configurations", "list", "--zone"] as const;
  const found = await ada.json<Configuration[]>(...list, "us");
  expect(found.map(({ name }) => name)).toEqual(["network-us"]);
  expect(await ada.json("configurations", "list")).toHaveLength(2);
  const none = await ada.run(...list, "empty");
  expect(none).toMatchObject({
    exitCode: 0,
    stdout: "",
    stderr: 'The zone "empty" has no configurations.',
  });
  const missing = await ada.run(...list, "asia");
  expect(missing).toMatchObject({ exitCode: 1, stdout: "" });
  expect(missing.stderr).toContain('There is no zone "asia"');
});
