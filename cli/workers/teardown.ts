/** Describes what the teardown of a worker destroys. */
import type { DeployConfiguration } from "../../protocol/deploy-configurations.ts";
import type { Worker } from "../../protocol/workers.ts";
import { destroyedWords } from "../../protocol/words.ts";
import type { Api } from "../api/api.ts";
import { teamWords } from "../api/team.ts";
import { findConfiguration } from "../configurations/find.ts";
import { shellWord } from "../../common/shell-word.ts";

/** What to do if a worker cannot be torn down. */
export const teardownRemedies = ({ team }: Pick<Api, "team">, worker: string) => ({
  no_deploy_configuration: `Run: windlass workers update ${shellWord(worker)} --deploy-configuration CONFIGURATION${teamWords(team)}`,
});

/** Returns text such as `module.worker of "network"`; undefined if the server does not say. */
export async function teardownOf(api: Api, worker: Worker): Promise<string | undefined> {
  const known = worker.metadata["deploy_configuration"] as DeployConfiguration | undefined;
  if (!known?.all && !known?.targets) return undefined;
  const { configuration_id: id, snapshot, targets } = known;
  const configuration = id === undefined ? snapshot : await findConfiguration(api, id);
  return destroyedWords(targets, configuration?.name ?? id ?? "its own configuration");
}
