/** Examples of schemas: declared ones, or composed from the examples of their parts. */
import type { TSchema } from "typebox";
import { fieldExamples } from "./examples/fields.ts";
import { configurationExamples } from "./examples/configurations.ts";
import { scheduleExamples } from "./examples/schedules.ts";
import { connectionExamples } from "./examples/connections.ts";
import { notificationExamples } from "./examples/notifications.ts";
import { jobExamples } from "./examples/jobs.ts";
import { peopleExamples } from "./examples/people.ts";
import { workerExamples } from "./examples/workers.ts";
import { keyOf, withoutNull, type Json } from "./schemas.ts";

const declared = new Map(
  [
    fieldExamples,
    configurationExamples,
    connectionExamples,
    notificationExamples,
    scheduleExamples,
    jobExamples,
    peopleExamples,
    workerExamples,
  ]
    .flat()
    .map(({ schema, value }) => [keyOf(schema), value]),
);

/** An undefined value or part means that openapi/examples/ lacks an example. */
export function exampleOf(schema: TSchema | Json): unknown {
  const own = (schema as { examples?: readonly unknown[] }).examples;
  if (own) return own[0];
  const known = declared.get(keyOf(schema));
  if (known !== undefined) return known;
  const plain = withoutNull(schema as Json);
  return plain ? exampleOf(plain) : composed(schema as Json);
}

function composed(schema: Json): unknown {
  const { type, const: constant, enum: words, properties, items, anyOf, minimum } = schema;
  if (constant !== undefined) return constant;
  if (Array.isArray(words)) return words[0];
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0] as Json);
  if (type === "array") return [exampleOf(items as Json)];
  if (type === "boolean") return false;
  if (type === "integer" || type === "number") return minimum ?? 1;
  if (type === "object" && properties)
    return Object.fromEntries(
      Object.entries(properties as Record<string, Json>).map(([name, part]) => [
        name,
        name.startsWith("next_") ? null : exampleOf(part),
      ]),
    );
  return undefined;
}
