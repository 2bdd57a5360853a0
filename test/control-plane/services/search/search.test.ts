/** A search reads a bounded number of names, in pages, and says when there are more. */
import { sql } from "kysely";
import { expect, test } from "vitest";
import { search, searchedNames } from "../../../../control-plane/services/search/search.ts";
import { callerOf, personalSpace } from "../../../helpers/people/caller.ts";
import { words } from "../../../helpers/console/forms.ts";
import { openPerson } from "../../../helpers/people/sign-in.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addOwner, addSpec } from "../../../helpers/plane/rows.ts";
import { counted } from "../../../helpers/store/work.ts";

const { plane } = planeForFile({ WINDLASS_QUOTA_ZONES: "20000" });

/** Adds zones that are in front of all others, because of their ids. */
const addZones = (owner: string, count: number) =>
  plane.context.store.write((tx) =>
    sql`insert into zones (id, owner_id, name, created_at, updated_at)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
      select '0000' || (1000000 + i) || ${owner}, ${owner}, 'filler ' || i, 1, 1 from n`.execute(
      tx.sql,
    ),
  );

const searcher = (owner: { readonly id: string }) => ({
  ...callerOf(owner),
  spaces: [personalSpace(owner)],
});

test("a name is found behind several pages of others, once each", async () => {
  const owner = await addOwner(plane.context.store);
  await addZones(owner.id, 2500);
  const specs = await Promise.all(
    Array.from({ length: 3 }, () => addSpec(plane.context.store, owner)),
  );
  const { context, work } = counted(plane.context);
  expect(await search(context, searcher(owner), "ZONE")).toEqual([
    { kind: "zones", things: [{ id: owner.zone, name: "zone" }], isPartial: false },
  ]);
  // Three pages, each with the first row of the next one, and the three configurations.
  expect(work).toEqual({ statements: 7, rows: 2501 + 2 + 3 });
  const id = specs[1]!;
  expect(await search(plane.context, searcher(owner), id)).toMatchObject([{ things: [{ id }] }]);
});

test("names beyond the limit are not read, and the page says so", async () => {
  const person = await openPerson(plane);
  await addZones(person.id, searchedNames + 5);
  await person.client.call("createZone", { body: { name: "the last one" } });
  const { context, work } = counted(plane.context);
  expect(await search(context, searcher(person), "the last")).toEqual([
    { kind: "zones", things: [], isPartial: true },
  ]);
  expect(work.rows).toBeLessThanOrEqual(searchedNames + 10);
  const page = words(await person.page("/search?q=the+last"));
  expect(page).toContain("There are more than are searched: the first 10,000 were.");
  expect(page).toContain("Nothing has “the last” in its name");
  // Twenty are found on the first page: what is behind it is not missing.
  expect(await search(context, searcher(person), "filler")).toMatchObject([
    { kind: "zones", things: { length: 20 }, isPartial: false },
  ]);
});
