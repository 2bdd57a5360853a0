/** Whose settings the doctor looks at. */
import { existsSync } from "node:fs";
import { loadEnvFile } from "node:process";
import { MissingSettingError } from "../../common/settings/config-error.ts";
import { readConfig, type AgentConfig } from "../config.ts";

/** Where `windlass agent install` writes them. */
const installed = "/etc/windlass/agent.env";

/** The settings of the environment; where nothing is set, those of the agent that is installed here. Throws `ConfigError`. */
export function readConfigOrInstalled(): AgentConfig {
  try {
    return readConfig();
  } catch (error) {
    const isUnset = error instanceof MissingSettingError && error.setting === "WINDLASS_URL";
    if (!isUnset || !existsSync(installed)) throw error;
    loadEnvFile(installed);
    return readConfig();
  }
}
