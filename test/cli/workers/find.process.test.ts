/** Workers that have one name. */
import { expect, test } from "vitest";
import type { Worker } from "../../../protocol/workers.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

// The walk takes longer than a minute on a busy machine.
const { plane } = planeForFile({ WINDLASS_OFFLINE_SECONDS: "3600" });

test("a name of several workers is refused with a list of them, and an id is taken", async () => {
  await using ada = await userMachine(plane);
  await ada.json("workers", "create", "other");
  const ids = [];
  for (const name of ["dup", "dup"])
    ids.push((await ada.json<{ worker_id: string }>("workers", "create", name)).worker_id);
  const [first, second] = ids as [string, string];
  const configuration = await ada.user.configure({ name: "network" });
  const before = await ada.json<Worker[]>("workers", "list");

  for (const words of [
    ["workers", "show", "dup"],
    ["workers", "update", "dup", "--label", "eu"],
    ["workers", "drain", "dup"],
    ["workers", "undrain", "dup"],
    ["workers", "rotate-token", "dup", "--yes"],
    ["workers", "delete", "dup", "--yes"],
    ["jobs", "plan", configuration, "--worker", "dup"],
    ["jobs", "destroy-worker", "dup", "--yes"],
  ]) {
    const { exitCode, stdout, stderr } = await ada.run(...words);
    expect({ words, exitCode, stdout }).toEqual({ words, exitCode: 2, stdout: "" });
    expect(stderr).toContain('Several workers are named "dup". Pass the id of one:');
    for (const id of ids) expect(stderr).toContain(`  ${id}  dup, REGISTERED, never seen`);
    expect(stderr).not.toContain("other");
  }
  expect(await ada.json("workers", "list")).toEqual(before);
  expect(await ada.json("jobs", "list")).toEqual([]);

  await ada.json("workers", "drain", first);
  const status = async (id: string) => (await ada.json<Worker>("workers", "show", id)).status;
  expect(await status(first)).toBe("DRAINING");
  expect(await status(second)).toBe("REGISTERED");

  const { stdout } = await ada.run("completion", "bash", "--names", "workers");
  expect((stdout as string).match(/^dup\t/gm)).toHaveLength(1);
});
