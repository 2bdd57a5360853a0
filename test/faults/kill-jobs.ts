/**
 * Jobs of every kind that count their effects outside the directories that the agent removes, and
 * their expected results.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { create } from "tar";
import { expect } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import type { Kind } from "./kill-points.ts";
import type { User } from "../helpers/people/user.ts";

/**
 * A configuration that counts its effects in a directory that stays, and that can be held while it
 * runs.
 */
export const configuration = (marks: string): string => `
  resource "terraform_data" "once" {
    input = "${marks}"
    provisioner "local-exec" {
      quiet   = true
      command = <<-EOT
        echo made >> '\${self.input}/made'
        echo tick; : > '\${self.input}/gate-reached'
        while [ -e '\${self.input}/gate' ]; do echo waiting; sleep 0.02; done
        echo 'schöne Grüße'
      EOT
    }
    provisioner "local-exec" {
      when    = destroy
      quiet   = true
      command = <<-EOT
        echo gone >> '\${self.input}/gone'; : > '\${self.input}/gate-reached'
        while [ -e '\${self.input}/gate' ]; do sleep 0.02; done
        echo farewell
      EOT
    }
  }
  output "cluster_name" { value = "survivor" }`;

/** Packs the configuration as an archive in this directory. */
export async function archiveOf(folder: string, text: string): Promise<Buffer> {
  mkdirSync(folder);
  writeFileSync(join(folder, "main.tf"), text);
  // Removing many files takes a moment, in which the agent can be killed.
  for (let file = 0; file < 300; file++) writeFileSync(join(folder, `file-${file}.txt`), "x");
  return buffer(create({ gzip: true, cwd: folder, portable: true }, ["."]));
}

/** Creates what a job of this kind needs. Returns a function that queues the job. */
export async function prepare(
  user: User,
  kind: Kind,
  configuration_id: string,
): Promise<() => Promise<Job>> {
  const success = async (job_type: "PLAN" | "DEPLOY"): Promise<string> => {
    const job = await user.queue({ job_type, configuration_id });
    expect(await user.released(job)).toMatchObject({ status: "SUCCESS" });
    return job.id;
  };
  switch (kind) {
    case "PLAN":
    case "DEPLOY":
      return () => user.queue({ job_type: kind, configuration_id });
    case "DEPLOY of a plan": {
      const plan_job_id = await success("PLAN");
      return () => user.queue({ job_type: "DEPLOY", configuration_id, plan_job_id });
    }
    case "DESTROY":
      await success("DEPLOY");
      return () => user.queue({ job_type: "DESTROY", configuration_id });
    case "DESTROY_WORKER": {
      await success("DEPLOY");
      const { worker_id } = await user.client.call("createWorker", { body: { name: "leaving" } });
      const deploy_configuration = { configuration_id, targets: ["terraform_data.once"] };
      const change = { params: { id: worker_id }, body: { deploy_configuration } };
      await user.client.call("updateWorker", change);
      return () => user.queue({ job_type: "DESTROY_WORKER", assigned_worker_id: worker_id });
    }
  }
}

/** Copies the output of terraform before the agent removes it. */
export function keep(runs: string, into: string): void {
  if (existsSync(into) || !existsSync(runs)) return;
  mkdirSync(into);
  for (const run of readdirSync(runs).filter((name) =>
    /-(fetch-providers|init|init-whole|plan|apply)$/.test(name),
  ))
    for (const stream of ["stdout", "stderr"])
      if (existsSync(join(runs, run, stream)))
        copyFileSync(join(runs, run, stream), join(into, `${run}.${stream}`));
}

/** Returns what was kept of a stream, in order. */
export const written = (kept: string, stream: string): string =>
  readdirSync(kept)
    .filter((name) => name.endsWith(stream))
    .toSorted()
    .map((name) => readFileSync(join(kept, name), "utf8"))
    .join("");

/** Returns how often resources were created and destroyed. */
export const sideEffects = (marks: string) =>
  ["made", "gone"].map((name) =>
    existsSync(join(marks, name))
      ? readFileSync(join(marks, name), "utf8").split("\n").length - 1
      : 0,
  ) as [number, number];

/** Checks what a job of this kind leaves behind: resources, state, outputs or plan, and no lock. */
export async function rightResult(
  user: User,
  kind: Kind,
  end: Job,
  [madeBefore, goneBefore]: [number, number],
  [made, gone]: [number, number],
): Promise<void> {
  const makes = kind.startsWith("DEPLOY");
  const destroys = kind.startsWith("DESTROY");
  expect([made - madeBefore, gone - goneBefore]).toEqual([makes ? 1 : 0, destroys ? 1 : 0]);
  const { sql } = user.plane.context.store.read;
  expect(
    await sql.selectFrom("state_locks").selectAll().where("job_id", "=", end.id).execute(),
  ).toEqual([]);
  const spec = end.spec_id ?? "";
  const [state] = await sql
    .selectFrom("state_versions")
    .select("resource_count")
    .where("spec_id", "=", spec)
    .orderBy("id", "desc")
    .execute();
  if (makes) {
    expect(end).toMatchObject({ execution_metadata: { cluster_name: "survivor" } });
    expect(state?.resource_count).toBe(1);
  } else if (destroys) {
    expect(state?.resource_count).toBe(0);
  } else {
    const { plan_summary } = await user.client.call("getPlanSummary", { params: end });
    expect(plan_summary?.counts).toMatchObject({ create: 1, delete: 0 });
  }
}
