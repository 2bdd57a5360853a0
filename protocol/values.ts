/** Values for terraform: variables and environment, of configurations and of variable sets. */
import { Type, type Static } from "typebox";
import { about, MapOf } from "./fields.ts";

/** Limit of the JSON of all variables together: 4 MiB. */
export const variablesLimit = 4 * 1024 * 1024;
/** Limit of the JSON of all environment variables together: 1 MiB. Linux accepts 2 MiB at most. */
export const environmentLimit = 1024 * 1024;
export const variablesCount = 1000;
export const environmentCount = 200;

/** What becomes of numbers in the values of outputs. */
export const numbersNote =
  "A number that a double cannot hold without loss is text with all its digits, also inside the value.";

/** A Terraform variable. Only the runner that holds the job gets a sensitive value. */
export const Variable = Type.Object(
  {
    value: Type.Optional(
      about(Type.Unknown(), "Any JSON. A sensitive value is sent only to the runner of a job."),
    ),
    sensitive: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type Variable = Static<typeof Variable>;

const environmentValueLimit = 32_768;
/** Text, or text marked as sensitive, which only the runner that holds the job gets. */
export const TextValue = Type.Union([
  Type.String({ maxLength: environmentValueLimit }),
  Type.Object(
    {
      value: Type.Optional(Type.String({ maxLength: environmentValueLimit })),
      sensitive: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
]);
export type TextValue = Static<typeof TextValue>;

export const VariableName = Type.String({
  pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,254}$",
  "x-form": "up to 255 letters, digits, _ and -, beginning with a letter or _",
});
export const EnvironmentName = Type.String({
  pattern: "^[A-Za-z_][A-Za-z0-9_]{0,254}$",
  "x-form": "up to 255 letters, digits and _, beginning with a letter or _",
});

/** Values for terraform: of a configuration, and of a variable set. */
export const valueFields = {
  variables: Type.Optional(
    MapOf(VariableName, Variable, {
      maxProperties: variablesCount,
      description: "Terraform variables by name.",
    }),
  ),
  environment: Type.Optional(
    MapOf(EnvironmentName, TextValue, {
      maxProperties: environmentCount,
      description:
        "Environment variables of terraform and its providers: text, or `{value, sensitive}`. Text with a name that ends in TOKEN, SECRET, PASSWORD, KEY or CREDENTIALS is sensitive.",
    }),
  ),
};
