/** The files of a PLAN that are not its configuration's. */
import { Type } from "typebox";
import { ConfigSnapshot, Source } from "./configurations.ts";
import { about } from "./fields.ts";

const { working_directory, var_files } = ConfigSnapshot.properties;

/** The parts of a configuration that fit one source only. */
export const plannedFiles = {
  source: Type.Optional(
    about(
      Source,
      "PLAN: plan this source. The configuration keeps its own until a DEPLOY of the plan starts.",
    ),
  ),
  working_directory: about(
    working_directory,
    "With `source`: the directory of it in which terraform runs. Missing: the configuration's. Taken over with the source.",
  ),
  var_files: about(
    var_files,
    "With `source`: the variable files of it. Missing: the configuration's. Taken over with the source.",
  ),
  deployed: Type.Optional(
    about(
      Type.Boolean(),
      "PLAN: plan what is deployed, in place of what the configuration is now: the source, the engine and the plain values of the last DEPLOY that succeeded. Sensitive values and the environment are the present ones. With `refresh_only` and no other option it is a drift check.",
    ),
  ),
};

/** Of a job: whether it runs what is not its configuration's. */
export const shownFiles = {
  own_source: about(
    Type.Boolean(),
    "Whether the job has another source than its configuration: a PLAN with `source`, or the DEPLOY of its plan, whose start makes that source the configuration's, with its `working_directory` and `var_files`.",
  ),
  deployed: Type.Optional(
    about(
      Type.Boolean(),
      "Whether a PLAN, or the plan that a DEPLOY applies, is of what was deployed before it and not of the configuration.",
    ),
  ),
};
