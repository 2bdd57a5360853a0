/** The page of a configuration shows which value comes from which variable set. */
import { expect, test } from "vitest";
import { endpoints } from "../../../protocol/endpoints.ts";
import { ask } from "../../helpers/plane.ts";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { openSampleUser } from "../../helpers/sample-data.ts";

const { plane } = planeForFile();

test("the page of a configuration names the set of each value and what overrides it", async () => {
  const { configure, person, headers } = await openSampleUser(plane);
  const id = await configure("shares");
  const variables = {
    region: { value: "eu-of-set" },
    pin: { value: "s3cret", sensitive: true },
  };
  const page = async () =>
    (await ask(plane, "GET", `/configurations/${id}`, { headers })).text.replaceAll(/\s+/g, " ");
  expect(await page()).not.toContain("Values from variable sets");
  const body = { name: "shared values", variables, configuration_ids: [id] };
  await person.get(endpoints.createVariableSet, { body });
  const shown = await page();
  expect(shown).toContain("eu-of-set");
  expect(shown).toContain("shared values (of the configuration)");
  expect(shown).not.toContain("s3cret");
});
