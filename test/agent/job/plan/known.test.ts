import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readKnown } from "../../../../agent/job/plan/known.ts";
import { secrecyOf } from "../../../../common/redaction/secrecy.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();

const state = {
  format_version: "1.0",
  values: {
    outputs: { leak: { value: "an output" } },
    root_module: {
      resources: [
        {
          address: "a.b",
          values: {
            id: "i-1",
            name: "not asked",
            key: "hidden by its mark",
            copy: "has hidden by its mark in it",
            note: "with the-secret of the job",
            count: 0,
            tags: { "x/y": "1", z: ["a", "b"] },
            disks: [{ id: "d-0", key: "k-0" }, { id: "d-1" }],
            gone: null,
          },
          sensitive_values: { key: true, disks: [{ key: true }, {}] },
        },
        { address: "a.b", deposed_key: "00000000", values: { id: "i-0" } },
        { address: "a.other", values: { id: "not asked" } },
      ],
      child_modules: [
        {
          child_modules: [{ resources: [{ address: "module.m.module.n.a.c", values: { id: 7 } }] }],
        },
      ],
    },
  },
  checks: [
    { address: { to_display: "check.health" }, status: "fail" },
    { address: { to_display: "check.other" }, status: "fail" },
    { address: { to_display: 'check.x["the-secret"]' }, status: "error" },
    { address: { to_display: "check.calm" }, status: "pass" },
  ],
};

test("only what the plan did not know is read of a state, without what is sensitive", async () => {
  const file = join(root, "state.json");
  // JavaScript has no number with as many digits.
  const json = JSON.stringify(state).replace('"count":0', '"count":12345678901234567890');
  writeFileSync(file, json);
  const paths = ["id", "key", "copy", "note", "count", "tags", "disks", "gone", "toString"];
  const known = await readKnown(file, secrecyOf(["the-secret"]), {
    resources: [
      { address: "a.b", paths },
      { address: "module.m.module.n.a.c", paths: ["id"] },
      { address: "a.missing", paths: ["id"] },
    ],
    checks: ["check.health", "check.missing"],
  });
  expect(known).toEqual({
    resources: [
      {
        address: "a.b",
        attributes: [
          { path: "copy", sensitive: true },
          { path: "count", after: "12345678901234567890", large_numbers: ["after"] },
          { path: "disks[0].id", after: "d-0" },
          { path: "disks[0].key", sensitive: true },
          { path: "disks[1].id", after: "d-1" },
          { path: "id", after: "i-1" },
          { path: "key", sensitive: true },
          { path: "note", sensitive: true },
          { path: 'tags["x/y"]', after: "1" },
          { path: "tags.z", after: ["a", "b"] },
        ],
      },
      { address: "module.m.module.n.a.c", attributes: [{ path: "id", after: 7 }] },
    ],
    checks: [
      { address: "check.health", status: "fail" },
      { address: "check.other", status: "fail" },
      { address: 'check.x["***"]', status: "error" },
    ],
  });
});
