/** `npm run reference`: writes the page of all commands and the OpenAPI document to dist/docs/. */
import { join } from "node:path";
import { writeReference } from "./lib/reference.ts";

await writeReference(join(import.meta.dirname, "../dist/docs"));
