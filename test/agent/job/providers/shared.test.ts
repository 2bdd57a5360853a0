import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import { offerOf } from "../../../../agent/job/providers/shared.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const place = folderForFile();

const encryption = `terraform {
  encryption {
    key_provider "aws_kms" "x" {
      profile             = "x"
      shared_config_files = ["aws.conf"]
    }
  }
}
`;

test.each([
  ["opentofu", "main.tf", encryption, false],
  ["opentofu", "main.tofu", encryption, false],
  ["opentofu", "main.tf", "locals {}", true],
  // Terraform has no such block.
  ["terraform", "main.tf", encryption, true],
] as const)("offerOf with %s and %s %j is defined: %s", (engine, name, text, isOffered) => {
  const folder = mkdtempSync(join(place, "source-"));
  mkdirSync(join(folder, "work"));
  writeFileSync(join(folder, name), text);
  const context = {
    settings: { cacheBytes: 1024, workDir: join(folder, "work"), providerMirror: "https://mirror" },
    isolation: { level: "process" },
    claim: { job: { config_snapshot: {} } },
    workspace: { root: place },
    facts: { folder, engine: { engine, version: "1.8.0", path: "" } },
  } as unknown as JobContext;
  expect(offerOf(context, undefined) !== undefined).toBe(isOffered);
});
