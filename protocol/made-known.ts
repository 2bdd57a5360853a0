/** What an apply has made known of what its plan did not know: asked for by the claim, and reported. */
import { Type, type Static } from "typebox";
import { about, OneOf } from "./fields.ts";
import { planAttributeCount, planListLimit, planTextLimit } from "./limits.ts";

const Text = Type.String({ maxLength: planTextLimit });

/** The attributes of which a runner is asked, in all resources together. */
export const unknownPathsLimit = 10_000;

export const UnknownValues = Type.Object({
  resources: Type.Array(Type.Object({ address: Text, paths: Type.Array(Text) })),
  checks: about(Type.Array(Text), "Those that failed in the plan, or that it did not know."),
});
export type UnknownValues = Static<typeof UnknownValues>;

export const KnownAttribute = Type.Object({
  path: about(Text, "As in the plan, or a part of it."),
  after: Type.Optional(Type.Unknown({ description: "As in a plan; missing if it is sensitive." })),
  sensitive: Type.Optional(Type.Boolean()),
  large_numbers: Type.Optional(Type.Array(OneOf(["before", "after"]), { maxItems: 2 })),
});
export type KnownAttribute = Static<typeof KnownAttribute>;

export const MadeKnown = about(
  Type.Object({
    resources: Type.Array(
      Type.Object({
        address: Text,
        attributes: Type.Array(KnownAttribute, { maxItems: planAttributeCount }),
      }),
      { maxItems: planListLimit },
    ),
    checks: Type.Array(
      Type.Object({ address: Text, status: OneOf(["pass", "fail", "error", "unknown"]) }),
      {
        maxItems: planListLimit,
        description: "Those that were asked for, and others that fail after the apply.",
      },
    ),
  }),
  "DEPLOY: what the apply has made known of what its plan did not know, and how its checks ended, without sensitive values; attributes have at most 512 KiB.",
);
export type MadeKnown = Static<typeof MadeKnown>;
