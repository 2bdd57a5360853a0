/** `windlass state`: the managed state of a configuration. */
import type { StateVersion } from "../../protocol/state-versions.ts";
import { examples, noun, yes, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { ago, time } from "../terminal/times.ts";

/** The command with its verbs. */
export function stateCommand() {
  const state = noun("state", "the terraform state that is kept here: its versions and its lock");
  const named = (name: string, description: string) =>
    state
      .command(name)
      .description(description)
      .argument("<configuration>", "name or id of the configuration");
  named("versions", "list the versions, newest first")
    .option("--limit <count>", "how many", "20")
    .action(
      action(async (run: Run, name: string, { limit }: { limit: string }) => {
        const { id } = await configurationOf(run, name);
        const { countOf, readPages } = await import("../api/pages.ts");
        const { items, more } = await readPages(countOf("--limit", limit), async (query) => {
          const page = await run.api.call("listStateVersions", { params: { name: id }, query });
          return { items: page.state_versions, next_cursor: page.next_cursor };
        });
        run.list(
          items,
          {
            SERIAL: ({ serial }) => serial,
            RESOURCES: ({ resources }) => resources,
            BYTES: ({ size_bytes }) => size_bytes,
            CREATED: ({ created_at }) => ago(created_at),
            JOB: ({ job_id }) => job_id ?? "a person",
          },
          "There is no state yet.",
        );
        if (more) run.done(`There are older ones: --limit ${Number(limit) * 5}`);
      }),
    );
  examples(
    named("download", "write a version to stdout as terraform's JSON; it may hold secrets")
      .option("--serial <number>", "which one; else the newest")
      .action(
        action(async (run: Run, name: string, { serial }: { serial?: string | undefined }) => {
          const { Failure } = await import("../terminal/output.ts");
          const { id } = await configurationOf(run, name);
          if (process.stdout.isTTY)
            throw new Failure("it may hold secrets: send it to a file, as in … > state.json", 2);
          const wanted = serial ?? String((await newest(run, id)).serial);
          const { body } = await run.api.send("downloadStateVersion", {
            params: { name: id, serial: wanted },
          });
          const { pipeline } = await import("node:stream/promises");
          await pipeline(body, process.stdout, { end: false });
        }),
      ),
    [["windlass state download network > network.tfstate", "the newest"]],
  );
  examples(
    named("rollback", "make the content of an older version the newest one")
      .requiredOption("--serial <number>", "the version to go back to")
      .addOption(yes())
      .action(
        action(
          async (run: Run, name: string, options: { serial: string; yes?: true | undefined }) => {
            const { id, name: found } = await configurationOf(run, name);
            const { serial } = options;
            const { confirm } = await import("../terminal/ask.ts");
            await confirm(
              `Go back to version ${serial} of the state of "${found}"? What was made since is forgotten, not destroyed.`,
              options,
            );
            showVersion(run, await run.api.call("rollBackState", { params: { name: id, serial } }));
          },
        ),
      ),
    [["windlass state rollback network --serial 7", "asks first"]],
  );
  named("unlock", "end the lock that a lost job left; make sure that its terraform is gone")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) => {
        const { id, name: found } = await configurationOf(run, name);
        const { confirm } = await import("../terminal/ask.ts");
        await confirm(
          `Unlock the state of "${found}"? A terraform that still runs there would write over what comes next.`,
          options,
        );
        await run.api.call("breakStateLock", { params: { name: id } });
        run.done(`The state of "${found}" is unlocked; waiting jobs go on.`);
      }),
    );
  verbExamples(state, {
    versions: ["network", "newest first"],
    unlock: ["network", "after a runner was lost in mid-apply"],
  });
  return examples(state, [
    ["windlass state versions network", "what there is"],
    ["windlass state unlock network", "after a runner was lost in mid-apply"],
  ]);
}

async function configurationOf(run: Run, name: string) {
  const { configurationOf: of } = await import("../configurations/find.ts");
  return of(run.api, name);
}

async function newest(run: Run, name: string): Promise<StateVersion> {
  const { Failure } = await import("../terminal/output.ts");
  const { state_versions } = await run.api.call("listStateVersions", {
    params: { name },
    query: { limit: 1 },
  });
  if (state_versions[0]) return state_versions[0];
  throw new Failure("there is no state yet");
}

function showVersion(run: Run, version: StateVersion): void {
  run.show(version, {
    serial: version.serial,
    lineage: version.lineage,
    resources: version.resources,
    bytes: version.size_bytes,
    md5: version.md5,
    job: version.job_id ?? "a person",
    created: time(version.created_at),
  });
}
