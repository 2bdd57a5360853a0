/** `windlass state`: the managed state of a configuration. */
import type { StateVersion } from "../../protocol/state-versions.ts";
import { examples, noun, yes, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { ago, time } from "../terminal/times.ts";

/** Builds the command. */
export function stateCommand() {
  const state = noun("state", "managed Terraform state: versions and lock");
  const named = (name: string, description: string) =>
    state
      .command(name)
      .description(description)
      .argument("<configuration>", "name or id of the configuration");
  named("versions", "list the versions of a state, newest first")
    .option("--limit <count>", "the number of versions to list", "20")
    .action(
      action(async (run: Run, name: string, { limit }: { limit: string }) => {
        const { id } = await configurationOf(run, name);
        const { parseCount, readPages } = await import("../api/pages.ts");
        const { items, more } = await readPages(parseCount("--limit", limit), async (query) => {
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
        if (more) run.done(`There are older versions: --limit ${Number(limit) * 5}`);
      }),
    );
  examples(
    named("download", "write a version to stdout as JSON; it may contain secrets")
      .option("--serial <number>", "serial of the version (default: the newest)")
      .action(
        action(async (run: Run, name: string, { serial }: { serial?: string | undefined }) => {
          const { CliError } = await import("../terminal/output.ts");
          const { id } = await configurationOf(run, name);
          if (process.stdout.isTTY)
            throw new CliError(
              "A state may contain secrets. Write it to a file: … > network.tfstate",
              2,
            );
          const wanted = serial ?? String((await newest(run, id)).serial);
          const { body } = await run.api.send("downloadStateVersion", {
            params: { name: id, serial: wanted },
          });
          const { pipeline } = await import("node:stream/promises");
          await pipeline(body, process.stdout, { end: false });
        }),
      ),
    [["windlass state download network > network.tfstate", "the newest version"]],
  );
  examples(
    named("rollback", "make the content of an older version the newest version")
      .requiredOption("--serial <number>", "serial of the version to go back to")
      .addOption(yes())
      .action(
        action(
          async (run: Run, name: string, options: { serial: string; yes?: true | undefined }) => {
            const { id, name: found } = await configurationOf(run, name);
            const { serial } = options;
            const { confirm } = await import("../terminal/ask.ts");
            await confirm(
              `Roll the state of "${found}" back to version ${serial}? Resources created since then are not destroyed, but terraform no longer manages them.`,
              options,
            );
            showVersion(run, await run.api.call("rollBackState", { params: { name: id, serial } }));
          },
        ),
      ),
    [["windlass state rollback network --serial 7", "asks for confirmation"]],
  );
  named("unlock", "remove the lock of a lost job; first make sure its terraform has ended")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) => {
        const { id, name: found } = await configurationOf(run, name);
        const { confirm } = await import("../terminal/ask.ts");
        await confirm(
          `Unlock the state of "${found}"? If its terraform is still running, it may overwrite later changes.`,
          options,
        );
        await run.api.call("breakStateLock", { params: { name: id } });
        run.done(`The state of "${found}" is unlocked. Waiting jobs continue.`);
      }),
    );
  verbExamples(state, {
    versions: ["network", "newest first"],
    unlock: ["network", "after a runner was lost during an apply"],
  });
  return examples(state, [
    ["windlass state versions network", "list the versions"],
    ["windlass state unlock network", "after a runner was lost during an apply"],
  ]);
}

async function configurationOf(run: Run, name: string) {
  const { configurationOf: of } = await import("../configurations/find.ts");
  return of(run.api, name);
}

async function newest(run: Run, name: string): Promise<StateVersion> {
  const { CliError } = await import("../terminal/output.ts");
  const { state_versions } = await run.api.call("listStateVersions", {
    params: { name },
    query: { limit: 1 },
  });
  if (state_versions[0]) return state_versions[0];
  throw new CliError("There is no state yet.");
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
