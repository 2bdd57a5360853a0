import { isForbiddenEnvironmentName } from "../../protocol/environment-names.ts";
import type { TextValue } from "../../protocol/values.ts";
import { faultText } from "../../protocol/words.ts";
import { invalid, RefusalError } from "./refusal.ts";

export function checkEnvironment(environment: Readonly<Record<string, TextValue>>): void {
  for (const [name, text] of Object.entries(environment)) {
    const path = `body.environment.${name}`;
    if (isForbiddenEnvironmentName(name)) {
      const fault = { path, message: `may not be set by a job${insteadOf(name)}` };
      throw new RefusalError("forbidden_environment_name", faultText(fault), { errors: [fault] });
    }
    const value = typeof text === "string" ? text : text.value;
    if (value?.includes("\0")) throw invalid(path, "must not contain NUL");
  }
}

function insteadOf(name: string): string {
  const [, instead] = replacements.find(([names]) => names.test(name)) ?? [];
  return instead === undefined ? "" : `: use ${instead}`;
}

const replacements: readonly (readonly [names: RegExp, instead: string])[] = [
  [
    /^AWS_/i,
    "a cloud identity or the role of the runner, or sensitive backend_config for a backend",
  ],
  [/^TF_WORKSPACE$/i, "one configuration for each workspace"],
  [/^TF_CLI_ARGS/i, "parallelism, var_files or the options of a plan"],
  [/^TF_LOG/i, "the debug log of a job"],
  [/^TF_HTTP_/i, "backend_config"],
  [/^GIT_/i, "WINDLASS_GIT_CREDENTIALS of the runner"],
];
