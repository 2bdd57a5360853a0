/** Which files of a directory are a configuration of terraform or OpenTofu. */

/** By its name. The engine ignores hidden files; copies that editors make have another ending. */
export const isTerraformFile = (
  name: string,
  engine: "terraform" | "opentofu" = "terraform",
): boolean =>
  !name.startsWith(".") &&
  (engine === "opentofu" ? /\.(tf|tofu)(\.json)?$/ : /\.tf(\.json)?$/).test(name);
