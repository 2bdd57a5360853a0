import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { declaresBackend, injectBackend } from "../../../agent/job/backend.ts";
import type { JobContext } from "../../../agent/job/context.ts";

test.each([
  ['terraform {\n  backend "s3" {\n    bucket = "x"\n  }\n}', true],
  ['terraform { backend "http" {} }', true],
  ['terraform {\n  cloud {\n    organization = "x"\n  }\n}', true],
  ['terraform {\n  required_version = ">= 1"\n  backend "gcs" {}\n}', true],
  [
    'terraform {\n  required_providers {\n    x = { source = "a/b" }\n  }\n  backend "s3" {}\n}',
    true,
  ],
  ["", false],
  ['terraform {\n  required_version = ">= 1"\n}', false],
  ['# terraform { backend "s3" {} }', false],
  ['// terraform {\n/* backend "s3" {\n */', false],
  ['terraform {\n  # backend "s3" {}\n}', false],
  ['resource "x" "y" {\n  cloud {\n  }\n}', false],
  ['resource "x" "y" {\n  backend "s3" {\n  }\n}', false],
  ['locals {\n  text = "terraform { backend \\"s3\\" {} }"\n}', false],
  ['locals {\n  text = <<-EOT\n    terraform {\n      backend "s3" {}\n    }\n  EOT\n}', false],
  ['locals {\n  a = "${"}"}"\n}\nterraform {\n  backend "s3" {}\n}', true],
])("%j names a backend: %s", (hcl, expected) => {
  expect(declaresBackend(hcl)).toBe(expected);
});

test("what a killed agent has left half written is replaced, whatever it was", () => {
  const root = mkdtempSync(join(tmpdir(), "backend-"));
  writeFileSync(join(root, "main.tf"), "");
  writeFileSync(join(root, "zzzz_windlass_0123_override.tf.json"), "");
  const job = { attempt: 1, spec_id: "spec", job_token: "token", config_snapshot: {} };
  injectBackend({ claim: { job }, workspace: { root } } as unknown as JobContext, root);
  const injected = readdirSync(root).filter((name) => name !== "main.tf");
  expect(injected).toHaveLength(1);
  expect(JSON.parse(readFileSync(join(root, injected[0] ?? ""), "utf8"))).toEqual({
    terraform: { backend: { http: {} } },
  });
  rmSync(root, { recursive: true });
});
