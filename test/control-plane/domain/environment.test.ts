import { describe, expect, it } from "vitest";
import { checkEnvironment } from "../../../control-plane/domain/environment.ts";

const refusal = (name: string, value = "x"): string => {
  try {
    checkEnvironment({ OTHER: "x", [name]: { value, sensitive: true } });
    return "";
  } catch (error) {
    return (error as Error).message;
  }
};

describe("an environment variable that a job may not set", () => {
  it.each([
    [
      "AWS_PROFILE",
      ": use a cloud identity or the role of the runner, or sensitive backend_config for a backend",
    ],
    ["TF_WORKSPACE", ": use one configuration for each workspace"],
    ["tf_workspace", ": use one configuration for each workspace"],
    ["TF_CLI_ARGS_plan", ": use parallelism, var_files or the options of a plan"],
    ["TF_LOG_PATH", ": use the debug log of a job"],
    ["TF_HTTP_USERNAME", ": use backend_config"],
    ["GIT_ASKPASS", ": use WINDLASS_GIT_CREDENTIALS of the runner"],
    ["PATH", ""],
  ])("is refused with what to use instead: %s", (name, instead) => {
    expect(refusal(name)).toBe(`environment.${name} may not be set by a job${instead}`);
  });

  it("is none of the others", () => {
    expect(refusal("TF_TOKEN_example_com")).toBe("");
    expect(refusal("A", "a\0b")).toBe("environment.A must not contain NUL");
  });
});
