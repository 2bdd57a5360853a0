/** What a worker was deployed with, and therefore what a DESTROY_WORKER job destroys. */
import { Type, type Static } from "typebox";
import { ConfigSnapshot } from "./configurations.ts";
import { about, ResourceAddresses, Uuid } from "./fields.ts";

/** Set by a user. Exactly one of `configuration_id` and `snapshot`, and of `targets` and `all`. */
export const DeployConfiguration = Type.Object(
  {
    configuration_id: Type.Optional(
      about(Uuid, "The configuration whose state contains the worker."),
    ),
    snapshot: Type.Optional(
      Type.Object(ConfigSnapshot.properties, {
        additionalProperties: false,
        description:
          "Instead of `configuration_id`: a separate configuration with its state in its own backend.",
      }),
    ),
    targets: Type.Optional(
      about(ResourceAddresses, "The parts of the state to destroy. Default: everything."),
    ),
    all: Type.Optional(
      Type.Literal(true, {
        description: "Destroy everything in the state. The server sets this without `targets`.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type DeployConfiguration = Static<typeof DeployConfiguration>;

/** Limit of the JSON, with its values, in bytes. */
export const deployConfigurationLimit = 65_536;
