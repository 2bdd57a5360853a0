import { expect } from "vitest";
import { recountStates } from "../../../../control-plane/services/states/recount.ts";
import { findFact, setFact, statesToRecount } from "../../../../control-plane/store/facts.ts";
import { addHeldJob, ask, readRow, setRows, stateHeaders } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { addSpec, addState } from "../../../helpers/rows.ts";

const { plane, it } = planeForFile();

it("counts the instances of the newest states once, and skips a state that cannot be read", async ({
  owner,
  spec,
  worker,
}) => {
  const { store } = plane.context;
  const job = await addHeldJob(plane, owner, worker, { spec_id: spec, job_type: "DEPLOY" });
  const headers = stateHeaders(plane, job);
  const path = `/api/state/${spec}`;
  const resources = [{ mode: "managed", instances: Array.from({ length: 300 }, () => ({})) }];
  const json = { version: 4, serial: 1, lineage: "l", resources };
  await ask(plane, "LOCK", path, { headers, json: { ID: "a" } });
  expect(await ask(plane, "POST", `${path}?ID=a`, { headers, json })).toMatchObject({
    status: 200,
  });
  await setRows(plane, "state_versions", { resources: 1 }, { spec_id: spec });
  const broken = await addSpec(store, owner);
  await addState(store, { spec_id: broken, blob: "nowhere", resources: 2 });

  await recountStates(plane.context);
  const count = async (spec_id: string) =>
    (await readRow(plane, "state_versions", { spec_id })).resources;
  expect(await count(spec)).toBe(1);
  await store.write((tx) => setFact(tx, statesToRecount, ""));
  await recountStates(plane.context);
  expect([await count(spec), await count(broken)]).toEqual([300, 2]);
  expect(await findFact(store.read, statesToRecount)).toBeUndefined();
});
