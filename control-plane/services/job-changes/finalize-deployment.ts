/** Writes outputs and failed checks in the transaction of the job's SUCCESS, or of a state that a user stores. */
import type { ExecutionMetadata } from "../../../protocol/jobs.ts";
import type { Queries } from "../../store/db.ts";
import { replaceOutputs } from "../../store/configurations/configurations.ts";

/** Writes the three named outputs and one component per output to the spec. */
export async function finalizeDeployment(
  tx: Queries,
  spec: string,
  metadata: ExecutionMetadata,
  failed_checks: number | null = null,
): Promise<void> {
  await replaceOutputs(
    tx,
    spec,
    {
      cluster_name: metadata.cluster_name ?? null,
      cluster_endpoint: metadata.cluster_endpoint ?? null,
      gitops_url: metadata.gitops_url ?? null,
      outputs_omitted: metadata.outputs_omitted ?? 0,
      failed_checks,
    },
    Object.entries(metadata.outputs ?? {}).map(([name, output]) => componentOf(name, output)),
  );
}

/** After a DESTROY, removes the outputs of the deployment. */
export const clearDeployment = (tx: Queries, spec: string): Promise<void> =>
  finalizeDeployment(tx, spec, {});

/** Runners other than ours may send bare values. A sensitive value is never stored. */
function componentOf(name: string, output: unknown) {
  const isTyped =
    typeof output === "object" && output !== null && ("sensitive" in output || "type" in output);
  const { type, value, sensitive, omitted_bytes } = isTyped
    ? (output as Record<"type" | "value" | "sensitive" | "omitted_bytes", unknown>)
    : { type: typeof output, value: output, sensitive: false };
  return {
    name,
    type: JSON.stringify(type ?? null),
    value: sensitive === true || value === undefined ? null : JSON.stringify(value),
    sensitive: sensitive === true ? 1 : 0,
    omitted_bytes:
      value === undefined && sensitive !== true && isCount(omitted_bytes) ? omitted_bytes : null,
  };
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
