/** Sealing of environments that an earlier release stored unencrypted. */
import { expect, it } from "vitest";
import { unseal, type Definition } from "../../../../control-plane/domain/snapshot.ts";
import { sealEnvironments } from "../../../../control-plane/services/configurations/seal-environments.ts";
import { environmentsSealed, removeFact } from "../../../../control-plane/store/facts.ts";
import { readJob, readRow } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addJob, addOwner, addSpec } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();

it("seals stored environments once, keeps values that are sealed already, and clears the job's configuration hash", async () => {
  const { store, box } = plane.context;
  const owner = await addOwner(store);
  const spec = await addSpec(store, owner);
  const job = await addJob(store, owner, { status: "SUCCESS", spec_id: spec, config_hash: "told" });
  const variables = { password: { sensitive: true, sealed: "as it was" } };
  const source = { type: "inline", files: {} };
  const text = JSON.stringify({
    source,
    variables,
    environment: { REGION: "eu", API_TOKEN: "in-clear" },
  });
  await store.write(async (tx) => {
    await tx.sql.updateTable("specs").set({ definition: text }).where("id", "=", spec).execute();
    await tx.sql
      .insertInto("job_snapshots")
      .values({ job_id: job.id, config_snapshot: text })
      .onConflict((conflict) => conflict.column("job_id").doUpdateSet({ config_snapshot: text }))
      .execute();
    await removeFact(tx, environmentsSealed);
  });
  await sealEnvironments(plane.context);
  await sealEnvironments(plane.context);

  const { definition } = await readRow(plane, "specs", { id: spec });
  const { config_snapshot } = await readRow(plane, "job_snapshots", { job_id: job.id });
  expect((await readJob(plane, job)).config_hash).toBeNull();
  for (const [id, sealed] of [
    [spec, definition],
    [job.id, config_snapshot],
  ] as const) {
    expect(sealed).not.toContain("in-clear");
    const opened = JSON.parse(sealed ?? "") as Definition;
    expect(opened).toMatchObject({ source, variables });
    expect(unseal({ ...opened, variables: {} }, box("variables"), id).environment).toEqual({
      REGION: "eu",
      API_TOKEN: { value: "in-clear", sensitive: true },
    });
  }
});
