/** Chooses the isolation level by trying, and the paths that jobs may read. */
import { build } from "../common/version.ts";
import type { AgentConfig } from "./config.ts";
import { chooseIsolation } from "./job/isolation/choose.ts";
import type { IsolationSettings } from "./job/isolation/isolation.ts";
import { makeOpen, storeFolder } from "./job/providers/store.ts";

/** Whether this is a container of our image. Other containers may be machines of developers. */
export const isInImage = (): boolean => build()?.package === "image";

export interface Isolated {
  readonly settings: IsolationSettings;
  /** What each stronger level needs: one line each. */
  readonly missing: readonly string[];
}

/** Throws `IsolationMissingError`. A trial passes another work directory. */
export async function isolate(config: AgentConfig, workDir = config.workDir): Promise<Isolated> {
  const { path, users, container, limits, providerMirror } = config;
  const store = storeFolder(workDir);
  makeOpen(workDir, store);
  const mirror = providerMirror?.startsWith("/") ? [providerMirror] : [];
  const readable = [...config.readable, store, ...mirror];
  const settings = { workDir, path, users, container, readable, limits };
  const { level, missing } = await chooseIsolation(settings, config.isolation, isInImage());
  return { settings: { ...settings, level }, missing };
}
