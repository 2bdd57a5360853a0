/** Whose settings the doctor looks at. */
import { existsSync } from "node:fs";
import { loadEnvFile } from "node:process";
import { readConfig, type AgentConfig } from "../config.ts";

/** Where `windlass agent install` writes them. */
const installed = "/etc/windlass/agent.env";

/** The settings of the environment; where nothing is set, those of the agent that is installed here. Throws `ConfigError`. */
export function readConfigOrInstalled(): AgentConfig {
  try {
    return readConfig();
  } catch (error) {
    const isUnset = (error as Error).message.startsWith("WINDLASS_URL is not set");
    if (!isUnset || !existsSync(installed)) throw error;
    loadEnvFile(installed);
    return readConfig();
  }
}
