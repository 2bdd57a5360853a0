/** `npm run openapi`: writes docs/openapi.json, which the server serves at /openapi.json. */
import { writeFile } from "node:fs/promises";
import { openApiDocument } from "../control-plane/openapi/document.ts";
import { version } from "../common/version.ts";

const file = new URL("../docs/openapi.json", import.meta.url);
await writeFile(file, `${JSON.stringify(openApiDocument(version()), null, 2)}\n`);
