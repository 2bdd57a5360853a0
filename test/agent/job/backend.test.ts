import { expect, test } from "vitest";
import { declaresBackend } from "../../../agent/job/backend.ts";

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
