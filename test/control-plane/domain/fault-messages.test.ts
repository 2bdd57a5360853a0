import { describe, expect, it } from "vitest";
import { endpoints } from "../../../protocol/endpoints.ts";
import { faultText } from "../../../protocol/words.ts";
import { faultMessages } from "../../../control-plane/domain/fault-messages.ts";
import { validatorOf } from "../../../control-plane/domain/validator-of.ts";
import type { RefusalError } from "../../../control-plane/domain/refusal.ts";

/** The messages for this input. */
function faultsOf(schema: Parameters<typeof validatorOf>[0], input: unknown): string[] {
  try {
    validatorOf(schema)(input);
    return [];
  } catch (error) {
    return ((error as RefusalError).more.errors ?? []).map(faultText);
  }
}
const given = { name: "n", zone_id: "019aa5c2-91f4-7a6e-9b1d-2c3d4e5f6a04" };
const inline = { type: "inline", files: { "main.tf": "" } };

describe("the message for a fault", () => {
  it.each<[schema: Parameters<typeof validatorOf>[0], input: unknown, faults: string[]]>([
    [endpoints.createJob.body, {}, ["job_type is missing"]],
    [
      endpoints.createJob.body,
      { job_type: "RUN" },
      ["job_type must be one of PLAN, DEPLOY, DESTROY, DESTROY_WORKER"],
    ],
    [
      endpoints.createJob.body,
      { job_type: "PLAN", configuration_id: "x" },
      ["configuration_id must be a UUID, such as 019aa5c2-91f4-7a6e-9b1d-2c3d4e5f6a04"],
    ],
    [
      endpoints.createJob.body,
      { job_type: "PLAN", color: 1 },
      ["color is not a field that is known here"],
    ],
    [
      endpoints.createJob.body,
      { job_type: "PLAN", labels: ["a", "-b"] },
      [
        "labels (entry 2) must be letters, digits and . _ / : = -, beginning with a letter or a digit",
      ],
    ],
    [
      endpoints.createJob.body,
      { job_type: "PLAN", labels: ["a", "a"] },
      ["labels must not name the same thing twice"],
    ],
    [
      endpoints.createJob.body,
      { job_type: "PLAN", plan_job_id: 5 },
      ["plan_job_id must be text or null"],
    ],
    [endpoints.createJob.body, [], ["body must be an object"]],
    [
      endpoints.createCloudIdentity.body,
      { name: "", provider: "aws", role_arn: "admin" },
      [
        "name must not be empty",
        "role_arn must be the ARN of a role, such as arn:aws:iam::123456789012:role/windlass",
      ],
    ],
    [
      endpoints.createCloudIdentity.body,
      { name: "x".repeat(101), provider: "aws", role_arn: "arn:aws:iam::123456789012:role/a" },
      ["name must have at most 100 characters"],
    ],
    [
      endpoints.createConfiguration.body,
      { ...given, source: inline, timeout_seconds: 0, parallelism: 1.5 },
      ["parallelism must be a whole number or null", "timeout_seconds must be 1 or more"],
    ],
    [
      endpoints.createConfiguration.body,
      { ...given, source: inline, variables: { "1a": {} } },
      [
        'variables must not contain the name "1a": a name must be up to 255 letters, digits, _ and -, beginning with a letter or _',
      ],
    ],
    [
      endpoints.createConfiguration.body,
      { ...given, source: inline, environment: { A: 5 } },
      ["environment.A must be text or an object"],
    ],
    [
      endpoints.createConfiguration.body,
      { ...given, source: { type: "inline", files: {} } },
      ["source.files must not be empty"],
    ],
    [
      endpoints.createConfiguration.body,
      { ...given, source: { type: "ftp", url: "x" } },
      ["source.type must be one of git, archive, inline"],
    ],
    [endpoints.createConfiguration.body, { ...given, source: {} }, ["source.type is missing"]],
  ])("is as written in row %#", (schema, input, faults) => {
    expect(faultsOf(schema, input)).toEqual(faults);
  });

  it("truncates long names", () => {
    const name = "-".repeat(100_000);
    const body = { ...given, source: inline, variables: { [name]: {} } };
    const [fault = ""] = faultsOf(endpoints.createConfiguration.body, body);
    expect(fault.length).toBeLessThan(300);
    expect(
      faultsOf(endpoints.createJob.body, { job_type: "PLAN", [name]: 1 })[0]?.length,
    ).toBeLessThan(300);
  });

  it("exists for every keyword of every endpoint, and every pattern of user input has a described form", () => {
    const words = new Set<string>();
    const formless: string[] = [];
    const walk = (schema: unknown, isOfPerson: boolean): void => {
      if (typeof schema !== "object" || schema === null) return;
      const {
        properties = {},
        patternProperties = {},
        examples: _,
        ...rest
      } = schema as Record<string, unknown>;
      for (const name of Object.keys(rest)) words.add(name);
      if (isOfPerson && "pattern" in rest && !("x-form" in rest))
        formless.push(String(rest["pattern"]));
      for (const inner of [
        ...Object.values({ ...(properties as object), ...(patternProperties as object) }),
        ...Object.values(rest),
      ])
        if (Array.isArray(inner)) for (const one of inner) walk(one, isOfPerson);
        else walk(inner, isOfPerson);
    };
    for (const { params, query, headers, body, caller } of Object.values(
      endpoints,
    ) as never as Record<string, unknown>[])
      for (const schema of [params, query, headers, body]) walk(schema, caller === "client");
    const used = [...words].filter((word) => isKeyword(word));
    expect(used.length).toBeGreaterThan(15);
    expect(used.filter((word) => !(word in faultMessages))).toEqual([]);
    expect(formless).toEqual([]);
  });
});

/** Whether Ajv validates by this keyword. */
function isKeyword(word: string): boolean {
  const annotations = [
    "description",
    "default",
    "title",
    "items",
    "x-form",
    "x-unicode-form",
    "deprecated",
    "contentEncoding",
    "propertyName",
  ];
  return !annotations.includes(word) && !word.startsWith("~");
}
