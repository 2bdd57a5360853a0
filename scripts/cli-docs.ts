/** `npm run cli-docs`: writes docs/cli.md from the commands' own help. */
import { writeFile } from "node:fs/promises";
import { cliDocument } from "./lib/cli-document.ts";

await writeFile(new URL("../docs/cli.md", import.meta.url), await cliDocument());
