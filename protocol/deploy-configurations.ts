/** What a worker was deployed with: what a DESTROY_WORKER job destroys. */
import { Type, type Static } from "typebox";
import { ConfigSnapshot } from "./configurations.ts";
import { about, ResourceAddresses, Uuid } from "./fields.ts";

/** A person sets it. `configuration_id` or `snapshot`, and `targets` or `all`: the service refuses neither and both. */
export const DeployConfiguration = Type.Object(
  {
    configuration_id: Type.Optional(about(Uuid, "The configuration whose state holds the worker.")),
    snapshot: Type.Optional(
      Type.Object(ConfigSnapshot.properties, {
        additionalProperties: false,
        description:
          "In place of `configuration_id`: a configuration of its own, whose state is in its own backend.",
      }),
    ),
    targets: Type.Optional(
      about(ResourceAddresses, "What of the state is destroyed; without it everything."),
    ),
    all: Type.Optional(
      Type.Literal(true, {
        description: "Everything of the state is destroyed. Set by the server without `targets`.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type DeployConfiguration = Static<typeof DeployConfiguration>;

/** As JSON, with its values. */
export const deployConfigurationLimit = 65_536;
