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
};
