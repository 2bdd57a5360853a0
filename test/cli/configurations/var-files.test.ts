import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packDirectory } from "../../../cli/configurations/pack.ts";
import { jsonFilesOf, terraformFilesOf } from "../../../cli/configurations/var-files.ts";
import { scratch } from "../../helpers/agent/agent-process.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";

describe("files of variables", () => {
  it("in HCL are uploaded, even if git ignores them, and those in JSON are read here", async () => {
    using place = scratch();
    const root = writeFiles(join(place.path, "net"), {
      "main.tf": "",
      ".gitignore": "*.tfvars\n",
      "envs/prod.tfvars": "size = 3\n",
      "other.tfvars": "",
    });
    const varFile = [join(root, "envs/prod.tfvars"), "values.tfvars.json"];
    expect(jsonFilesOf({ varFile })).toEqual(["values.tfvars.json"]);
    const included = terraformFilesOf({ varFile }, root);
    expect(included).toEqual(["envs/prod.tfvars"]);
    const { files, skipped } = await packDirectory(root, included);
    expect(files).toEqual([".gitignore", "main.tf", "envs/prod.tfvars"]);
    expect(skipped).toEqual(["other.tfvars"]);
  });

  it("in HCL are refused outside of what is uploaded, or if they are missing", () => {
    using place = scratch();
    const root = writeFiles(join(place.path, "net"), { "main.tf": "" });
    writeFiles(place.path, { "prod.tfvars": "" });
    const of = (file: string, from?: string) => () =>
      terraformFilesOf({ varFile: [join(place.path, file)] }, from);
    expect(of("prod.tfvars", root)).toThrow(/must be inside .*net, which is uploaded/);
    expect(of("prod.tfvars")).toThrow(/must be uploaded: pass --dir too/);
    expect(of("gone.tfvars", root)).toThrow(/gone.tfvars" cannot be read: there is no such file/);
  });
});
