import { expect } from "vitest";
import { recountStates } from "../../../../control-plane/services/states/recount.ts";
import { findFact, setFact, statesToRecount } from "../../../../control-plane/store/facts.ts";
import { addHeldJob, ask, readRow, setRows, stateHeaders } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addSpec, addState } from "../../../helpers/plane/rows.ts";

const { plane, it } = planeForFile();

async function* piecesOf(text: string) {
  yield Buffer.from(text);
}

it("counts the newest states once, and skips unreadable ones", async ({ owner, spec, worker }) => {
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
  await setRows(plane, "state_versions", { resource_count: null }, { spec_id: spec });
  const broken = await addSpec(store, owner);
  await addState(store, { spec_id: broken, blob: "nowhere", resource_count: 2 });
  const encrypted = await addSpec(store, owner);
  const text = '{"serial":1,"lineage":"l","encrypted_data":"eA==","encryption_version":"v0"}';
  const { blob } = await plane.context.blobs.write(piecesOf(text), text.length);
  await addState(store, { spec_id: encrypted, blob, resource_count: null });

  await recountStates(plane.context);
  const count = async (spec_id: string) =>
    (await readRow(plane, "state_versions", { spec_id })).resource_count;
  expect(await count(spec)).toBeNull();
  await store.write((tx) => setFact(tx, statesToRecount, ""));
  await recountStates(plane.context);
  expect([await count(spec), await count(broken), await count(encrypted)]).toEqual([300, 2, null]);
  expect(await findFact(store.read, statesToRecount)).toBeUndefined();
});
