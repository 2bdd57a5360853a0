/** Checks values against the schemas of the wire outside of routes. */
import type { Static, TSchema } from "typebox";
import type { ErrorObject } from "ajv";
import { faultText } from "../../protocol/words.ts";
import { describeFaults } from "./fault-messages.ts";
import { normalizerFor } from "./normalize.ts";
import { RefusalError } from "./refusal.ts";
import { compileValidator } from "./validation.ts";

/** For forms and stored values, which are checked like the body of a route. */
export function validatorOf<T extends TSchema>(
  schema: T,
  context = "body",
  nothing = "null",
): (input: unknown) => Static<T> {
  const validate = compileValidator({ schema, httpPart: "body" });
  const normalize = normalizerFor(schema);
  return (input) => {
    if (!validate(input)) throw refusedFields(validate.errors ?? [], context, nothing);
    return normalize(input) as Static<T>;
  };
}

/** For the input of a form, in which a field without a value is empty. */
export const formValidatorOf = <T extends TSchema>(schema: T): ((input: unknown) => Static<T>) =>
  validatorOf(schema, "body", "empty");

/** Faults that one refusal lists. */
const faultsListed = 20;

/** Returns a validator's errors as a refusal that names each field. */
export function refusedFields(
  validation: readonly ErrorObject[],
  context = "body",
  nothing = "null",
): RefusalError {
  const errors = describeFaults(validation, context, faultsListed, nothing);
  const [first] = errors;
  return new RefusalError("invalid_request", first && faultText(first), { errors });
}
