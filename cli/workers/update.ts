/** `windlass workers update`. */
import type { DeployConfiguration } from "../../protocol/deploy-configurations.ts";
import type { UpdateWorker, Worker } from "../../protocol/workers.ts";
import { configurationOf } from "../configurations/find.ts";
import { readJson } from "../configurations/variables.ts";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";

export interface UpdateOptions {
  readonly name?: string | undefined;
  readonly label?: string[] | undefined;
  readonly deployConfiguration?: string | undefined;
  readonly deployFile?: string | undefined;
  readonly target?: string[] | undefined;
}

/** Changes the fields that the options name and returns the changed worker. */
export async function update(run: Run, worker: Worker, options: UpdateOptions): Promise<Worker> {
  const { name, label } = options;
  const deploy_configuration = await deployConfigurationOf(run, options);
  const body: UpdateWorker = {
    ...(name === undefined ? {} : { name }),
    ...(label === undefined ? {} : { labels: label.filter((one) => one !== "") }),
    ...(deploy_configuration === undefined ? {} : { deploy_configuration }),
  };
  if (Object.keys(body).length === 0)
    throw new CliError("Nothing to change. For help: windlass workers update --help", 2);
  return run.api.call("updateWorker", { params: { id: worker.id }, body });
}

async function deployConfigurationOf(
  { api }: Run,
  { deployConfiguration: named, deployFile: file, target: targets }: UpdateOptions,
): Promise<DeployConfiguration | null | undefined> {
  if (named !== undefined && file !== undefined)
    throw new CliError("Pass either --deploy-configuration or --deploy-file, not both.", 2);
  // The server validates the content of the file.
  if (file !== undefined) return readJson(file) as DeployConfiguration;
  if (named === "none" || named === undefined) {
    if (targets !== undefined)
      throw new CliError("--target needs --deploy-configuration with a name or id.", 2);
    return named === undefined ? undefined : null;
  }
  const { id: configuration_id } = await configurationOf(api, named);
  return targets === undefined ? { configuration_id, all: true } : { configuration_id, targets };
}
