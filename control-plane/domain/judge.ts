/** Judges values by the schemas of the wire where no route does. */
import type { Static, TSchema } from "typebox";
import { refusedFields } from "../http/problem.ts";
import { compileValidator } from "./validation.ts";

/** Makes the judge of a schema: what a form makes, or the store kept, is checked as a route checks a body. */
export function judge<T extends TSchema>(
  schema: T,
  context = "body",
): (input: unknown) => Static<T> {
  const route = { schema, method: "POST", url: "", httpPart: "body" };
  // Not before it is needed: a server that starts has better things to do.
  let validate: ReturnType<typeof compileValidator> | undefined;
  return (input) => {
    validate ??= compileValidator(route);
    if (validate(input) !== true) throw refusedFields(validate.errors ?? [], context);
    return input as Static<T>;
  };
}
