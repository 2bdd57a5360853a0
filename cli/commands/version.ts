/** `windlass version`: what is installed here, and what it was made from. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { build, describeCommit, installedIn, version, type Build } from "../../common/version.ts";
import { examples } from "../noun.ts";
import { action } from "../run.ts";

export const versionCommand = () =>
  examples(
    new Command("version")
      .description("show the version, the package and the commit of this installation")
      .action(
        action(async ({ show }) => {
          const directory = installedIn();
          const { package: from, commit } = build() ?? (await checkout(directory));
          const facts = {
            version: version(),
            package: from,
            commit,
            parts: from === "npm" ? "agent, client" : "server, agent, client",
            directory,
            node: `${process.versions.node} (${process.platform}-${process.arch})`,
          };
          show(facts, facts);
        }),
      ),
    [["windlass version", "what is installed; --version prints only the number"]],
  );

async function checkout(directory: string): Promise<Build> {
  // Not the commit of a repository around an unpacked archive of the source.
  if (!existsSync(join(directory, ".git"))) return { package: "source", commit: "unknown" };
  const { execa } = await import("execa");
  const { stdout, failed } = await execa("git", describeCommit(directory), {
    reject: false,
    timeout: 10_000,
  });
  return { package: "checkout", commit: failed ? "unknown" : stdout };
}
