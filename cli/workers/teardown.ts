/** What tearing a worker down destroys, in words. */
import type { DeployConfiguration } from "../../protocol/deploy-configurations.ts";
import type { Worker } from "../../protocol/workers.ts";
import { destroyedWords } from "../../protocol/words.ts";
import type { Api } from "../api/api.ts";
import { maybeConfiguration } from "../configurations/find.ts";

/** Such as `module.worker of "network"`; undefined where the server does not say. */
export async function teardownOf(api: Api, worker: Worker): Promise<string | undefined> {
  const known = worker.metadata["deploy_configuration"] as DeployConfiguration | undefined;
  if (!known?.all && !known?.targets) return undefined;
  const { configuration_id: id, snapshot, targets } = known;
  const configuration = id === undefined ? snapshot : await maybeConfiguration(api, id);
  return destroyedWords(targets, configuration?.name ?? id ?? "its own configuration");
}
