/** Finds the settings that the doctor checks. */
import { existsSync } from "node:fs";
import { loadEnvFile } from "node:process";
import { ConfigError, MissingSettingError } from "../../common/settings/config-error.ts";
import { readConfig, type AgentConfig } from "../config.ts";

/** The file to which `windlass agent install` writes settings. */
const installed = "/etc/windlass/agent.env";

/** Reads the environment, or without WINDLASS_URL the settings of the installed agent. */
export function readConfigOrInstalled(): AgentConfig {
  try {
    return readConfig();
  } catch (error) {
    const isUnset = error instanceof MissingSettingError && error.setting === "WINDLASS_URL";
    if (!isUnset || !existsSync(installed)) throw error;
    try {
      loadEnvFile(installed);
    } catch {
      throw new ConfigError(
        `${installed} cannot be read: run this as root, or as windlass agent doctor --help shows`,
      );
    }
    return readConfig();
  }
}
