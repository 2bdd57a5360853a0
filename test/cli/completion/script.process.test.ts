/** Completion with the Tab key in real shells, where they are installed. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../../helpers/agent/agent-process.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { root } from "../../helpers/project/source-files.ts";
import { openProgram } from "../../helpers/machine/terminal.ts";
import { lackOfProgram } from "../../helpers/project/tools.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { windlass } from "../../helpers/cli/windlass.ts";

/** How each shell is started without its start files, and how it loads the completions. */
const shells: Readonly<Record<string, readonly [start: string[], load: string]>> = {
  bash: [["bash", "--norc"], "source <(windlass completion bash)"],
  zsh: [["zsh", "-f"], "autoload -U compinit && compinit -u -D; source <(windlass completion zsh)"],
  fish: [["fish", "--no-config"], "windlass completion fish | source"],
};

const { plane } = planeForFile();

describe.concurrent("completion", () => {
  test.for(Object.keys(shells))(
    "in %s completes verbs, options, names and file names",
    async (shell, context) => {
      const lack = lackOfProgram(shell);
      if (lack !== undefined) return context.skip(lack);
      const [start, load] = shells[shell]!;
      await using ada = await userMachine(plane);
      const configuration_id = await ada.user.configure({ name: "network" });
      // A shell must not run what a name contains.
      await ada.user.configure({ name: "odd $(touch odd) name" });
      const { id } = await ada.user.queue({ job_type: "PLAN", configuration_id });
      const env = {
        ...ada.environment,
        PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
        HOME: ada.path,
        // An ending shell writes no history into a directory that is being removed.
        HISTFILE: "",
        PS1: "$ ",
      };
      await using terminal = openProgram(start, env, root);
      /** Types the start of a line and Tab, waits for the completion, and clears the line. */
      const completes = async (typed: string, to: string): Promise<void> => {
        const before = terminal.raw().length;
        terminal.type(`${typed}\t`);
        await until(() => terminal.raw().slice(before).includes(to));
        // Ctrl-U clears the line.
        terminal.type("\u0015");
      };
      await until(() => terminal.raw() !== "");
      terminal.type(`${load}; echo read''y\r`);
      await terminal.shows("ready");
      await completes("windlass work", "ers");
      await completes("windlass jobs canc", "el");
      await completes("windlass --json jobs plan network --wa", "it");
      await completes("windlass state download x --js", "on");
      await completes("windlass up samp", "les");
      await completes("windlass server login-", "link");
      await completes("windlass agent do", "ctor");
      await completes("windlass jobs plan netw", "ork");
      await completes("windlass jobs list --zone zo", "ne");
      await completes("windlass jobs list --status fai", "led");
      // A role here, and the name of a cloud role in `identities create`.
      await completes("windlass teams invite --role dep", "loyer");
      await completes(`windlass jobs show ${id.slice(0, 20)}`, id.slice(20));
      await completes("windlass configurations show od", "name");
      // After the first space of a name, whichever way it is quoted.
      await completes("windlass configurations show odd\\ ", "name");
      await completes("windlass configurations show 'odd ", "(touch odd) name'");
      await completes('windlass configurations show "odd ', '(touch odd) name"');
      await completes("windlass jobs list --configuration 'odd ", "(touch odd) name'");
      await completes("windlass jobs list --zone 'a zone' --status fai", "led");
      expect(existsSync(join(root, "odd"))).toBe(false);
      // Options are offered only after a hyphen, so none is typed where a name is missing.
      await completes("windlass zones show ", "zone");
      // Names of the team on the line; `""` is the personal space.
      const slug = `platform-${shell}`;
      await ada.json("teams", "create", "Platform", "--slug", slug);
      await ada.json("zones", "create", "default", "--team", slug);
      const files = join(ada.path, "files");
      mkdirSync(files);
      writeFileSync(join(files, "main.tf"), "");
      await ada.json("configurations", "create", "peering", "--dir", files, "--team", slug);
      await completes(`windlass jobs plan --team ${slug} peer`, "ing");
      await completes(`windlass --team=${slug} jobs plan peer`, "ing");
      await completes(`windlass --team ${slug} jobs plan --team "" netw`, "ork");
      await completes("windlass jobs plan --team=plat", slug.slice(4));
      // A file of this directory is not the name of a configuration.
      const before = terminal.raw().length;
      const offered = (): string => terminal.raw().slice(before);
      terminal.type("windlass jobs plan READ\tXYZ");
      await until(() => /X.*Y.*Z/s.test(offered()));
      expect(offered()).not.toContain("ME");
      expect(terminal.screen()).not.toMatch(/unrecognized|not found|error/i);
    },
  );

  test("for an unknown shell ends with 2 and lists the supported shells", async () => {
    const { exitCode, stderr } = await windlass(["completion", "tcsh"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("bash, zsh, fish");
  });
});
