/**
 * The plan as a `.tar.gz`, with the lock file and a manifest that binds it to engine, version and
 * source. Anything that does not match is refused: a plan contains provisioners and backends.
 */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { planArtifactLimit } from "../../../protocol/limits.ts";
import { known, StepFailedError, type JobContext, type Step } from "../context.ts";
import { copyJobFile } from "../job-files.ts";
import type { PlanManifest } from "./manifest.ts";
import { lockFile } from "../source/source.ts";
import { sha256Of, unpack } from "../source/archive.ts";
import { emptyFolder } from "../workspace.ts";
import { mebibyte } from "../../../common/units.ts";

const manifestFile = "manifest.json";
const planFile = "tfplan";
const lockFileLimit = mebibyte;
const unpackLimits = { entries: 4, bytes: 512 * mebibyte };

/** Packs the plan. It needs nothing of the output of `show`, so both run at the same time. */
export async function packPlan(context: JobContext): Promise<void> {
  const { root, plan, packed } = context.workspace;
  emptyFolder(packed);
  // A plan is a zip, which packing hardly makes smaller, so the limit of the artifact is its limit.
  if (!(await copyJobFile(root, plan, join(packed, planFile), planArtifactLimit))) {
    throw new StepFailedError("show: terraform has written no plan file");
  }
  const lock = join(known(context, "folder"), lockFile);
  await copyJobFile(root, lock, join(packed, lockFile), lockFileLimit);
  const manifest = await manifestOf(context);
  writeFileSync(join(packed, manifestFile), JSON.stringify(manifest, null, 2), { mode: 0o600 });
  const names = [manifestFile, planFile, ...(manifest.lock_sha256 ? [lockFile] : [])];
  const tar = await import("tar");
  const options = { file: packedPlan(context), cwd: packed, gzip: { level: 1 }, portable: true };
  await tar.create(options, names);
}

export const uploadPlan: Step = {
  name: "artifact",
  async run(context) {
    const { size } = statSync(packedPlan(context));
    if (size > planArtifactLimit) {
      throw new StepFailedError(
        `artifact: the plan has ${size} bytes, more than ${planArtifactLimit}`,
      );
    }
    await context.api.uploadPlan(packedPlan(context), context.stop);
    return {};
  },
};

const packedPlan = ({ workspace }: JobContext): string => join(workspace.root, "artifact.tar.gz");

/** A server of the published interface names no plan and sends the one it has. */
export const downloadPlan: Step = {
  name: "artifact",
  async run(context) {
    const { job } = context.claim;
    const { artifact, temporary } = context.workspace;
    const isNamed = job.plan_job_id !== undefined && job.plan_job_id !== null;
    if (job.attempt !== undefined && !isNamed) return { manifest: null };
    const packed = join(temporary, "plan.tar.gz");
    if (!(await context.api.downloadPlan(packed, context.stop))) {
      if (isNamed) throw new StepFailedError("artifact: the plan of this job no longer exists");
      return { manifest: null };
    }
    emptyFolder(artifact);
    await unpack(packed, artifact, unpackLimits, "artifact", (path) =>
      [manifestFile, planFile, lockFile].includes(path),
    );
    rmSync(packed);
    return { manifest: await verified(context) };
  },
};

async function manifestOf(context: JobContext): Promise<PlanManifest> {
  const { job } = context.claim;
  const { packed } = context.workspace;
  const engine = known(context, "engine");
  const lock = join(packed, lockFile);
  return {
    format: 1,
    engine: engine.engine,
    engine_version: engine.version,
    job_id: job.id,
    spec_id: job.spec_id,
    source: plannedSource(context),
    plan_sha256: await sha256Of(join(packed, planFile)),
    lock_sha256: existsSync(lock) ? await sha256Of(lock) : null,
    backend: known(context, "backend"),
    ...(job.plan_options ? { options: job.plan_options } : {}),
  };
}

/** If no commit has the files of a merge, no DEPLOY may fetch the head and apply this plan. */
function plannedSource(context: JobContext): PlanManifest["source"] {
  const source = known(context, "source");
  const { merged } = context.facts;
  const hasCommit = !merged || merged.is_head_only || merged.is_current;
  return hasCommit ? source : { ...source, type: "merge" };
}

async function verified({ claim: { job }, workspace }: JobContext): Promise<PlanManifest> {
  const manifest = await readManifest(join(workspace.artifact, manifestFile));
  const lock = join(workspace.artifact, lockFile);
  const engine = job.config_snapshot.engine ?? "terraform";
  if (!existsSync(workspace.plan)) refuse("it has no plan file");
  if ((await sha256Of(workspace.plan)) !== manifest.plan_sha256)
    refuse("the plan file was changed");
  if ((existsSync(lock) ? await sha256Of(lock) : null) !== manifest.lock_sha256) {
    refuse("the lock file was changed");
  }
  if (manifest.source.type === "merge")
    refuse("it was made of a pull request merged into its base: plan the merged commit");
  if (manifest.spec_id !== job.spec_id) refuse("it was made for another configuration");
  if (job.plan_job_id && manifest.job_id !== job.plan_job_id) refuse("it belongs to another job");
  if (!isDeepStrictEqual(manifest.options, job.plan_options))
    refuse("it was made with other options");
  if (manifest.engine !== engine) refuse(`it was made with ${manifest.engine}, not ${engine}`);
  return manifest;
}

async function readManifest(path: string): Promise<PlanManifest> {
  const { isPlanManifest } = await import("./manifest.ts");
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return refuse("it has no readable manifest");
  }
  return isPlanManifest(manifest) ? manifest : refuse("its manifest has an unknown format");
}

function refuse(why: string): never {
  throw new StepFailedError(`artifact: the plan is refused: ${why}`);
}
