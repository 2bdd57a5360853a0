/** Bodies are checked without conversion; paths, queries and headers are converted first. */
import { _, Ajv, type ErrorObject, type Options } from "ajv";
import addFormats, { type FormatsPlugin } from "ajv-formats";

/** `verbose`: a message can say what the schema around a fault says. */
const common: Options = { discriminator: true, strict: false, verbose: true };
const coercion: Options = { coerceTypes: true, useDefaults: true };
/** Stops at the first fault: listing those of a large body must take no longer than finding one. */
const strict = makeAjv(common);
const coercing = makeAjv({ ...common, ...coercion });
/** Validators that list every fault, for input that is small enough. */
const strictLister = makeAjv({ ...common, allErrors: true });
const coercingLister = makeAjv({ ...common, ...coercion, allErrors: true });

/** Of heavier input, only the first fault is named: listing all checks every value again. */
const listedWeight = 2000;

function makeAjv(options: Options): Ajv {
  const ajv = new Ajv(options);
  // ajv-formats is CommonJS: under Node its default import is the plugin, for the type checker the
  // module.
  (addFormats as unknown as FormatsPlugin)(ajv);
  // Ajv counts the characters of every string, which costs more than parsing a log post. Most
  // strings are short enough by their UTF-16 length, which is never smaller.
  ajv.removeKeyword("maxLength");
  ajv.addKeyword({
    keyword: "maxLength",
    type: "string",
    schemaType: "number",
    // A pattern is not matched against a text that is too long.
    before: "minLength",
    validate: (limit: number, text: string) =>
      text.length <= limit || (text.length <= 2 * limit && characters(text) <= limit),
    error: { message: "is too long", params: ({ schema }) => _`{limit: ${schema as number}}` },
  });
  return ajv;
}

/** Returns whether the input is valid; `errors` is what the last input had. */
interface Validate {
  (input: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/**
 * Fastify's own Ajv drops unknown fields and converts 5 to "5" in bodies, which would accept
 * mistakes of users. A schema is compiled when its first input comes: compiling all of them is a
 * fifth of the server's start (450 of 2,100 ms of CPU time).
 */
export function compileValidator({
  schema,
  httpPart,
}: {
  readonly schema: object;
  readonly httpPart?: string;
}): Validate {
  const [compiler, lister] =
    httpPart === "body" ? [strict, strictLister] : [coercing, coercingLister];
  let isValid: ReturnType<Ajv["compile"]> | undefined;
  let list: ReturnType<Ajv["compile"]> | undefined;
  const validate: Validate = (input) => {
    validate.errors = null;
    isValid ??= compiler.compile(schema);
    if (isValid(input)) return true;
    validate.errors = isValid.errors ?? null;
    if (weigh(input, listedWeight) > listedWeight) return false;
    list ??= lister.compile(schema);
    if (!list(input)) validate.errors = list.errors ?? null;
    return false;
  };
  return validate;
}

/** Fifty characters of text count as one value more. Stops soon after `enough`. */
function weigh(value: unknown, enough: number): number {
  if (typeof value === "string") return 1 + value.length / 50;
  if (typeof value !== "object" || value === null) return 1;
  let weight = 1;
  for (const [name, inner] of Object.entries(value)) {
    weight += name.length / 50 + weigh(inner, enough - weight);
    if (weight > enough) break;
  }
  return weight;
}

/** Code points: a surrogate pair is one character. */
function characters(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at += 1) if (text.codePointAt(at)! > 0xffff) pairs += 1;
  return text.length - pairs;
}
