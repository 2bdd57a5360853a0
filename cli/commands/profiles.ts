/** `windlass profiles`: the servers at which the user is signed in, and which of them commands go to. */
import { examples, noun, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";

/** The command with its verbs. */
export function profilesCommand() {
  const profiles = noun("profiles", "the servers at which you are signed in");
  profiles
    .command("list")
    .description("list them; the current one is marked")
    .action(
      action(async ({ settings, list }) => {
        const { readAuth } = await import("../api/auth-file.ts");
        const auth = readAuth(settings.directory);
        const items = Object.entries(auth.profiles).map(([name, { server, user_email }]) => ({
          name,
          server,
          user_email,
          current: name === auth.current,
        }));
        list(
          items,
          {
            "": ({ current }) => (current ? "*" : " "),
            NAME: ({ name }) => name,
            SERVER: ({ server }) => server,
            EMAIL: ({ user_email }) => user_email,
          },
          "You are not signed in anywhere: windlass login --server https://…",
        );
      }),
    );
  profiles
    .command("use")
    .description("make a profile the current one")
    .argument("<name>", "name of the profile")
    .action(
      action(async (run: Run, name: string) => {
        const { changeAuth } = await import("../api/auth-file.ts");
        const { findProfile } = await import("../api/api.ts");
        await changeAuth(run.settings.directory, (before) => {
          findProfile(before, { name });
          return { ...before, current: name };
        });
        run.done(`Commands go to "${name}" now.`);
      }),
    );
  verbExamples(profiles, {
    list: ["", "where you are signed in"],
    use: ["staging", "from now on"],
  });
  return examples(profiles, [
    ["windlass profiles use staging", "from now on"],
    ["windlass jobs list --profile staging", "this once"],
  ]);
}
