/** Shows configurations. */
import type { Configuration, Source } from "../../protocol/configurations.ts";
import type { VariableSet } from "../../protocol/variable-sets.ts";
import { approvalRuleText, driftText, outputsNote, stateWords } from "../../protocol/words.ts";
import { ifReadable } from "../api/failures.ts";
import { outputsOf, printOutputs } from "../jobs/outputs.ts";
import type { Run } from "../run.ts";
import { findLostLock, lockRemedy, lockText } from "../states/lock.ts";
import { timeAndAge } from "../terminal/times.ts";
import { deployedText } from "./deployed.ts";
import { failureText, hasErrorOfFailure, styledConfigurationStatus } from "./failed.ts";
import { expiryText, warnOfEnd } from "./expiry.ts";
import { environmentLines, linesWithSets } from "./values.ts";

/** Describes a source in one line. */
export function sourceText(source: Source): string {
  if (source.type === "archive") return `archive ${source.sha256.slice(0, 12)}`;
  if (source.type === "inline") {
    const count = Object.keys(source.files).length;
    return `inline, ${count} ${count === 1 ? "file" : "files"}`;
  }
  return (
    [source.url, source.path].filter(Boolean).join("//") + (source.ref ? `@${source.ref}` : "")
  );
}

/** Prints a configuration as names and values, and its outputs. */
export async function showConfiguration(run: Run, it: Configuration): Promise<void> {
  const [names, sets, lock, follows] = run.json
    ? [undefined, [], null, {}]
    : await Promise.all([
        namesOf(run, it),
        setsOf(run, it),
        findLostLock(run.api, it.id),
        it.follow ? (await import("./followed.ts")).followFields(run, it) : {},
      ]);
  const { variables, environment } = linesWithSets(it, sets);
  const isOfFailure = hasErrorOfFailure(it);
  run.show(it, {
    name: it.name,
    id: it.id,
    project: it.project_name === it.name ? null : it.project_name,
    zone: names?.zone,
    status: styledConfigurationStatus(it),
    ...(isOfFailure ? { error: it.error_message } : { "later error": it.error_message }),
    failure: it.failed_job && failureText(it),
    deployed: it.deployed && deployedText(it.deployed),
    drift: it.drift && it.drift.status !== "unchecked" ? driftText(it.drift) : null,
    source: sourceText(it.source),
    ...follows,
    "created from": originOf(it),
    submodules: it.submodules ? "fetched too" : null,
    engine: [it.engine, it.engine_version].filter(Boolean).join(" "),
    directory: it.working_directory,
    state: stateWords(it),
    lock:
      lock &&
      `${lockText(lock)}. ${lockRemedy(run.api, it.name, lock, it.state_backend === "own")}`,
    identity: names?.identity,
    labels: it.labels.join(", "),
    variables: variables.join("\n"),
    environment: environment.join("\n"),
    "variable sets": it.variable_sets
      ?.map(({ name, attached_to }) => `${name} (attached to the ${attached_to})`)
      .join("\n"),
    "var files": it.var_files?.join("\n"),
    "backend settings": environmentLines(it.backend_config).join("\n"),
    parallelism: it.parallelism?.toString(),
    "time limit": it.timeout_seconds && `${it.timeout_seconds} seconds for a job`,
    approvals: it.approval && approvalRuleText(it.approval),
    expires: it.expires_at && expiryText(it.expires_at),
    changed: timeAndAge(it.updated_at),
    console: `${run.api.server}/configurations/${it.id}`,
  });
  if (run.json) return;
  printOutputs(run, outputsOf(it), it);
  const note = outputsNote(it);
  if (note !== null && it.components.length > 0) run.done(note);
  warnOfEnd(run, [it]);
}

/** Those of its variable sets that the caller may read, in the order in which they win. */
async function setsOf({ api }: Run, { variable_sets = [] }: Configuration): Promise<VariableSet[]> {
  const sets = variable_sets.map(({ id }) =>
    ifReadable(api.call("getVariableSet", { params: { id } })),
  );
  return (await Promise.all(sets)).filter((one) => one !== undefined);
}

async function namesOf(
  { api }: Run,
  { zone_id, cloud_identity_id, cloud_identity_name }: Configuration,
): Promise<{ zone: string; identity: string | null }> {
  const [{ zones }, identities] = await Promise.all([
    api.call("listZones"),
    cloud_identity_id === null || cloud_identity_name !== undefined
      ? undefined
      : ifReadable(api.call("listCloudIdentities")),
  ]);
  return {
    zone: nameIn(zones, zone_id),
    identity:
      cloud_identity_name ??
      (cloud_identity_id && nameIn(identities?.cloud_identities ?? [], cloud_identity_id)),
  };
}

const nameIn = (all: readonly { id: string; name: string }[], wanted: string): string =>
  all.find(({ id }) => id === wanted)?.name ?? wanted;

const linkId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Describes the directory from which `windlass up` created a configuration. */
export const originOf = ({ origin }: Pick<Configuration, "origin">): string | undefined =>
  origin !== undefined && linkId.test(origin)
    ? `a directory with the id ${origin} (.windlass/link.json)`
    : origin;
