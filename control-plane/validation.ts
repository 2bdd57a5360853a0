/** How input is checked: bodies strictly as they are, the text of paths, queries and headers converted to its type first. */
import { Ajv, type Options } from "ajv";
import addFormats, { type FormatsPlugin } from "ajv-formats";
import type { FastifySchemaCompiler } from "fastify";

const common: Options = { allErrors: true, discriminator: true, strict: false };
const strict = new Ajv(common);
const coercing = new Ajv({ ...common, coerceTypes: true, useDefaults: true });
// ajv-formats is CommonJS: under Node its default import is the plugin, for the type checker the module.
const formats = addFormats as unknown as FormatsPlugin;
for (const ajv of [strict, coercing]) {
  formats(ajv);
  // Ajv counts the characters of every string, which costs more than parsing a log post. Most are short enough by their UTF-16 length,
  // which is never smaller.
  ajv.removeKeyword("maxLength");
  ajv.addKeyword({
    keyword: "maxLength",
    type: "string",
    schemaType: "number",
    validate: (limit: number, text: string) =>
      text.length <= limit || (text.length <= 2 * limit && characters(text) <= limit),
    error: { message: ({ schema }) => `must NOT have more than ${schema} characters` },
  });
}

/**
 * Fastify's own Ajv drops unknown fields and turns 5 into "5" in bodies (stack.md, pitfall 1): both would accept what a person did
 * not mean.
 */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) =>
  (httpPart === "body" ? strict : coercing).compile(schema);

/** Code points: a surrogate pair is one character. */
const characters = (text: string): number =>
  text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
