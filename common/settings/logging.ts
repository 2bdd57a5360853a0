/** The settings of the log that the server and the agent write about themselves. */
import type { Settings } from "./setting.ts";

export const logging = {
  WINDLASS_LOG_LEVEL: {
    type: "enum",
    values: ["trace", "debug", "info", "warn", "error", "silent"],
    default: "info",
    help: "the level of the program's own log, on stderr",
  },
  WINDLASS_LOG_FORMAT: {
    type: "enum",
    values: ["pretty", "json"],
    otherwise: "pretty on a terminal, else json",
    help: "the form of the program's own log",
  },
} as const satisfies Settings;
