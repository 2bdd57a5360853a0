/** Stored values and contents that cannot be decrypted: a clear error, and a way to continue. */
import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { secretBox } from "../../control-plane/domain/secret-box.ts";
import { seal, type Definition } from "../../control-plane/domain/snapshot.ts";
import { addState } from "../helpers/plane/rows.ts";
import { addTestUser } from "../helpers/people/user.ts";
import { ask, setRows } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";

const source = { type: "inline" as const, files: { "main.tf": "" } };

const { plane } = planeForFile();

async function person() {
  const { owner, headers, client } = await addTestUser(plane);
  const body = { name: randomUUID(), zone_id: owner.zone, source };
  const { id } = await client.call("createConfiguration", { body });
  return { client, headers, id, params: { name: id } };
}

it("a configuration value that cannot be decrypted is named in the error and can be set again", async () => {
  const { client, headers, id, params } = await person();
  const definition: Definition = {
    source,
    variables: { password: { value: "a", sensitive: true } },
    environment: { MY_TOKEN: { value: "b", sensitive: true } },
  };
  const sealed = seal(definition, secretBox(["another".padEnd(40)], "variables"), id);
  await setRows(plane, "specs", { definition: JSON.stringify(sealed) }, { id });
  const shown = await client.call("getConfiguration", { params });
  expect(shown.variables).toEqual({ password: { sensitive: true } });
  const queue = () =>
    ask(plane, "POST", "/api/jobs", { headers, json: { job_type: "PLAN", configuration_id: id } });
  const refused = async () => {
    const { status, body } = await queue();
    return [status, JSON.parse(String(body))] as const;
  };
  const detail = (value: string) => ({
    code: "unreadable",
    detail: expect.stringMatching(new RegExp(`^${value} cannot be decrypted.*Set the value again`)),
  });
  expect(await refused()).toEqual([409, expect.objectContaining(detail("variables.password"))]);

  const change = (body: object) => client.call("updateConfiguration", { params, body });
  await change({ timeout_seconds: 60 });
  await change({ variables: { password: { value: "new", sensitive: true } } });
  await change({ environment: { MY_TOKEN: { sensitive: true }, OTHER: "1" } });
  expect(await refused()).toEqual([409, expect.objectContaining(detail("environment.MY_TOKEN"))]);
  await change({ environment: { MY_TOKEN: { value: "new", sensitive: true } } });
  await client.call("createJob", { body: { job_type: "PLAN", configuration_id: id } });
});

it.each(["damaged", "missing"])(
  "a state whose content is %s returns 409 unreadable",
  async (how) => {
    const { headers, id } = await person();
    const text = '{"version":4,"serial":1,"lineage":"l","resources":[]}';
    const { blob } = await plane.context.blobs.write(
      (async function* () {
        yield Buffer.from(text);
      })(),
      1000,
    );
    await addState(plane.context.store, { spec_id: id, blob, size_bytes: text.length });
    if (how === "missing") await plane.context.blobs.delete(blob);
    else {
      const names = await readdir(plane.directory, { recursive: true });
      const file = join(plane.directory, names.find((name) => name.endsWith(blob.slice(2))) ?? "");
      const bytes = await readFile(file);
      bytes.writeUInt8((bytes.at(-1) ?? 0) ^ 1, bytes.length - 1);
      await writeFile(file, bytes);
    }
    for (const [method, path] of [
      ["GET", `/api/cli/configurations/${id}/state/versions/1`],
      ["POST", `/api/cli/configurations/${id}/state/versions/1/rollback`],
    ] as const) {
      const { status, body } = await ask(plane, method, path, { headers });
      expect([status, JSON.parse(String(body))]).toEqual([
        409,
        expect.objectContaining({
          code: "unreadable",
          detail: expect.stringMatching(/cannot be read: .*Restore it from a backup/),
        }),
      ]);
    }
  },
);
