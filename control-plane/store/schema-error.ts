/** The store was made by another release; this one must not touch it. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}
