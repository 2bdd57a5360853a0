/** Which files of a directory are a configuration of terraform or OpenTofu. */

/**
 * Whether the engine reads a file of this name, as part of the configuration or to override it. It
 * ignores hidden files; the copies that editors make have another ending.
 */
export const isTerraformFile = (
  name: string,
  engine: "terraform" | "opentofu" = "terraform",
): boolean =>
  !name.startsWith(".") &&
  (engine === "opentofu" ? /\.(tf|tofu)(\.json)?$/ : /\.tf(\.json)?$/).test(name);
