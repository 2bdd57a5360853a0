/** Brings the terraform files into the workspace and returns exactly which they are. */
import { copyFileSync, existsSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { isTerraformFile } from "../../../common/terraform-files.ts";
import type { Source } from "../../../protocol/configurations.ts";
import type { ClaimedJob } from "../../../protocol/executions.ts";
import type { MergedCommits } from "../../../protocol/source-merge.ts";
import { StepFailedError, type JobContext, type Step } from "../context.ts";
import type { Facts } from "../facts.ts";
import { unpackSource } from "./archive.ts";
import { gitProtocols } from "./git-access.ts";
import { fetchGit, type FetchedGit } from "./git.ts";
import { writeInline } from "./inline.ts";
import { accessOf } from "./source-access.ts";
import { isInjected } from "../terraform/backend.ts";
import { emptyFolder } from "../workspace.ts";

export const fetchSource: Step = {
  name: "source",
  async run(context): Promise<Facts> {
    const { workspace, facts } = context;
    emptyFolder(workspace.source);
    const { merged, ...source } = await fetchFiles(context);
    const expected = facts.manifest?.source;
    if (expected && (expected.digest !== source.digest || expected.type !== source.type)) {
      throw new StepFailedError(
        `source: the files are not those of the plan (${source.digest} instead of ${expected.digest})`,
      );
    }
    const folder = folderOf(context);
    checkFiles(context, folder);
    const lock = join(workspace.artifact, lockFile);
    // The plan was made with exactly these provider versions.
    if (facts.manifest && existsSync(lock)) {
      // The source may have a link at this path.
      rmSync(join(folder, lockFile), { force: true });
      copyFileSync(lock, join(folder, lockFile));
    }
    return {
      source,
      ...(merged && { merged }),
      folder,
      locked: existsSync(join(folder, lockFile)),
    };
  },
};

export const lockFile = ".terraform.lock.hcl";

async function fetchFiles(context: JobContext): Promise<FetchedGit> {
  const { workspace, api, stop, facts, settings, isolation } = context;
  // A server that knows only the published interface may put anything into a snapshot, or leave the
  // source out.
  const source: Source | undefined = context.claim.job.config_snapshot.source;
  switch (source?.type) {
    case "inline":
      return writeInline(source.files, workspace.source);
    case "archive": {
      const file = join(workspace.temporary, "source.tar.gz");
      await api.downloadSource(file, stop);
      return unpackSource(file, source.sha256, workspace.source);
    }
    case "git": {
      // A DEPLOY fetches the commit that was planned, even if the branch has moved.
      const ref = facts.manifest?.source.digest ?? source.ref;
      const { config_snapshot, merge, plan_digest_key } = context.claim.job;
      const wish = {
        url: source.url,
        ref,
        submodules: config_snapshot.submodules,
        merge: facts.manifest ? undefined : merge,
        treesFolder: plan_digest_key === undefined ? undefined : context.directory,
      };
      const using = { ...settings, isolation, gitAccess: accessOf(context, source.url) };
      const fetched = await fetchGit(wish, workspace, using, stop, gitProtocols(settings));
      if (fetched.merged) context.log.system(mergeNote(fetched.merged, merge?.base_branch ?? ""));
      return fetched;
    }
    default:
      throw new StepFailedError("source: config_snapshot.source is missing or of an unknown type");
  }
}

const mergeNote = (
  { base_commit, head_commit, is_head_only, is_current }: MergedCommits,
  base: string,
): string => {
  if (is_current)
    return `The pull request's head ${head_commit} has all commits of ${base} (${base_commit})`;
  return is_head_only
    ? `Warning: the pull request's head ${head_commit} and ${base} (${base_commit}) have no common commit within the limits of the runner. The head is planned alone: the plan may destroy what ${base} has added since`
    : `Merged the pull request's head ${head_commit} into ${base} (${base_commit})`;
};

/** It must be within the source also after its links are resolved. */
function folderOf({ claim, workspace }: JobContext): string {
  const wanted = wantedFolder(claim);
  const root = realpathSync(workspace.source);
  const path = join(root, wanted);
  if (!existsSync(path) || !statSync(path).isDirectory()) {
    throw new StepFailedError(`source: it has no directory "${wanted}"`);
  }
  const folder = realpathSync(path);
  const way = relative(root, folder);
  if (way === ".." || way.startsWith(`..${sep}`)) {
    throw new StepFailedError(`source: the directory "${wanted}" is outside of it`);
  }
  return folder;
}

function wantedFolder({ job }: ClaimedJob): string {
  const { source, working_directory: inner = "" } = job.config_snapshot;
  return join(source.type === "git" ? (source.path ?? "") : "", inner);
}

/**
 * An empty plan would destroy everything, so only a destruction may have no files. Terraform would
 * take the agent's own file for a configuration.
 */
function checkFiles({ claim, facts }: JobContext, folder: string): void {
  const { job_type, plan_options, config_snapshot } = claim.job;
  const destroys = job_type === "DESTROY" || job_type === "DESTROY_WORKER";
  if (destroys || (facts.manifest ? facts.manifest.options : plan_options)?.destroy) return;
  const { engine, source } = config_snapshot;
  const isThere = readdirSync(folder, { withFileTypes: true }).some(
    (entry) =>
      !entry.isDirectory() && isTerraformFile(entry.name, engine) && !isInjected(entry.name),
  );
  if (isThere) return;
  const wanted = wantedFolder(claim);
  const endings =
    engine === "opentofu" ? "*.tf, *.tofu, *.tf.json, *.tofu.json" : "*.tf, *.tf.json";
  throw new StepFailedError(
    `source: ${wanted === "." ? "it" : `the directory "${wanted}"`} has no terraform files (${endings}), so terraform would destroy everything. ` +
      `Check the working directory${source.type === "git" ? " and the path of the source" : ""}`,
  );
}
