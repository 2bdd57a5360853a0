/** Between the form of a worker and the API's fields, both ways. */
import { isDeepStrictEqual } from "node:util";
import type { DeployConfiguration } from "../../../protocol/deploy-configurations.ts";
import type { UpdateWorker, Worker } from "../../../protocol/workers.ts";
import { invalid } from "../../domain/refusal.ts";
import type { Form } from "../page/form.ts";

/** The choice that keeps a snapshot, which only the API and the client can set. */
export const keptSnapshot = "snapshot";

/** What a worker was deployed with, as far as it is known. */
export const deployConfigurationOf = ({ metadata }: Worker): DeployConfiguration | undefined =>
  metadata["deploy_configuration"] as DeployConfiguration | undefined;

export function fieldsOf(worker: Worker): Form["fields"] {
  const known = deployConfigurationOf(worker);
  return {
    name: worker.name,
    labels: worker.labels.join(" "),
    configuration_id: known?.configuration_id ?? (known?.snapshot ? keptSnapshot : ""),
    targets: (known?.targets ?? []).join("\n"),
    all: known?.all ? "on" : "",
  };
}

/** Only what the form changes, so that the audit log says no more than that. */
export function changeOf(form: Form, before: Worker): UpdateWorker {
  const known = deployConfigurationOf(before) ?? null;
  const name = form.word("name");
  // The API refuses more than 32 labels and 100 targets; validating all would take seconds.
  const labels = form
    .text("labels")
    .split(/[\s,]+/, 100)
    .filter(Boolean);
  const deploy_configuration = deployConfigurationIn(form, known);
  return {
    ...(name === before.name ? {} : { name }),
    ...(isDeepStrictEqual(labels, before.labels) ? {} : { labels }),
    ...(isDeepStrictEqual(deploy_configuration, known) ? {} : { deploy_configuration }),
  };
}

function deployConfigurationIn(
  form: Form,
  known: DeployConfiguration | null,
): DeployConfiguration | null {
  const chosen = form.text("configuration_id");
  if (chosen === "") return null;
  const targets = form
    .text("targets")
    .split("\n", 200)
    .map((line) => line.trim())
    .filter(Boolean);
  const isAll = form.isOn("all");
  if (targets.length === 0 && !isAll)
    throw invalid(
      "body.deploy_configuration.targets",
      "are missing: name them, or tick the box that destroys everything",
    );
  const scope = { ...(targets.length > 0 ? { targets } : {}), ...(isAll ? { all: true } : {}) };
  return {
    ...(chosen === keptSnapshot && known?.snapshot
      ? { snapshot: known.snapshot }
      : { configuration_id: chosen }),
    ...(scope as Pick<DeployConfiguration, "targets" | "all">),
  };
}
