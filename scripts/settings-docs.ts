/** `npm run settings-docs`: writes the tables of docs/settings.md. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settingsDocument } from "./lib/settings-document.ts";

const page = join(import.meta.dirname, "../docs/settings.md");
writeFileSync(page, settingsDocument(readFileSync(page, "utf8")));
