import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { version } from "../../common/version.ts";
import { openApiDocument } from "../../control-plane/openapi/document.ts";
import { cliDocument } from "./cli-document.ts";

/** Writes what is generated from the code: the help of all commands, and the OpenAPI document. */
export async function writeReference(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "commands.md"), await cliDocument());
  await writeFile(join(directory, "openapi.json"), JSON.stringify(openApiDocument(version())));
}
