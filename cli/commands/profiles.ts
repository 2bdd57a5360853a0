/** `windlass profiles`: one login for each server, of which one is the current profile. */
import { examples, noun, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";

export function profilesCommand() {
  const profiles = noun("profiles", "the servers to which you are signed in");
  profiles
    .command("list")
    .description("list your profiles; * marks the current one")
    .action(
      action(async ({ settings, list }) => {
        const { readAuth } = await import("../api/auth-file.ts");
        const auth = readAuth(settings.directory);
        const items = Object.entries(auth.profiles).map(([name, { server, user_email, team }]) => ({
          name,
          server,
          user_email,
          team: team ?? null,
          current: name === auth.current,
        }));
        list(
          items,
          {
            "": ({ current }) => (current ? "*" : " "),
            NAME: ({ name }) => name,
            SERVER: ({ server }) => server,
            EMAIL: ({ user_email }) => user_email,
            TEAM: ({ team }) => team,
          },
          "You are not signed in. Run: windlass login --server https://…",
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
        run.done(`The current profile is now "${name}".`);
      }),
    );
  verbExamples(profiles, {
    list: ["", "show where you are signed in"],
    use: ["staging", "use it for all later commands"],
  });
  return examples(profiles, [
    ["windlass profiles use staging", "use it for all later commands"],
    ["windlass jobs list --profile staging", "use it for one command"],
  ]);
}
