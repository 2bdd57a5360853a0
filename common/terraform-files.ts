/** Which files of a directory are a configuration of terraform or OpenTofu. */
import { readdirSync } from "node:fs";

/** By its name. The engine ignores hidden files; copies that editors make have another ending. */
export const isTerraformFile = (
  name: string,
  engine: "terraform" | "opentofu" = "terraform",
): boolean =>
  !name.startsWith(".") &&
  (engine === "opentofu" ? /\.(tf|tofu)(\.json)?$/ : /\.tf(\.json)?$/).test(name);

/** The names of those directly in a directory that either engine reads. */
export const terraformFilesIn = (directory: string): string[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && isTerraformFile(entry.name, "opentofu"))
    .map(({ name }) => name);
