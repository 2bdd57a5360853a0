/** `npm run up-docs`: deploys the sample in a terminal, and writes its text to docs/up.md. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startPlane } from "../test/helpers/plane/plane.ts";
import { recordUp } from "../test/helpers/cli/up-session.ts";

const plane = await startPlane();
const { transcript } = await recordUp(plane);
await plane.close();
const file = join(import.meta.dirname, "../docs/up.md");
const fence = /```text\n\$ [\s\S]*?\n```/;
const text = readFileSync(file, "utf8");
if (!fence.test(text)) throw new Error("docs/up.md has no recording to replace");
writeFileSync(
  file,
  text.replace(fence, () => `\`\`\`text\n${transcript.trim()}\n\`\`\``),
);
