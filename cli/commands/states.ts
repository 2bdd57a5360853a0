/** `windlass state`: the managed state of a configuration. */
import type { StateVersion } from "../../protocol/state-versions.ts";
import { configurationHelp, examples, limit, noun, yes, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { PushOptions } from "../states/states.ts";
import { ago, time } from "../terminal/times.ts";

const states = () => import("../states/states.ts");

export function stateCommand() {
  const state = noun("state", "managed Terraform state: resources, versions, import and lock");
  const named = (name: string, description: string) =>
    state.command(name).description(description).argument("<configuration>", configurationHelp);
  named("versions", "list the versions of a state, newest first")
    .addOption(limit("the number of versions to list"))
    .action(
      action(async (current: Run, name: string, { limit }: { limit: string }) => {
        const { run, configuration } = await inSpaceOf(current, name);
        const { id } = configuration;
        const { parseCount, readPages } = await import("../api/pages.ts");
        const { noStateText } = await states();
        const { storerText } = await import("../../protocol/words.ts");
        const { items, more } = await readPages(parseCount("--limit", limit), async (query) => {
          const page = await run.api.call("listStateVersions", { params: { name: id }, query });
          return { items: page.state_versions, next_cursor: page.next_cursor };
        });
        run.list(
          items,
          {
            SERIAL: ({ serial }) => serial,
            RESOURCES: ({ resources }) => resources ?? "not known",
            BYTES: ({ size_bytes }) => size_bytes,
            CREATED: ({ created_at }) => ago(created_at),
            "STORED BY": (version) =>
              version.job_id === null ? storerText(version) : `job ${version.job_id}`,
          },
          items.length === 0 ? await noStateText(run, id) : "",
        );
        if (more) run.cut("versions");
      }),
    );
  named("list", "list the resources in a state").action(
    action(async (run: Run, name: string) => (await states()).list(run, name)),
  );
  named(
    "show",
    "show a resource in a state; values that terraform marks as sensitive are hidden, others are shown, also those given with --sensitive",
  )
    .argument("<address>", "address of the resource, as state list prints it")
    .action(
      action(async (run: Run, name: string, address: string) =>
        (await states()).show(run, name, address),
      ),
    );
  named("pull", "write the newest version to stdout as JSON; it may contain secrets").action(
    action(async (run: Run, name: string) => (await states()).pull(run, name)),
  );
  examples(
    named("push", "store a state as the newest version, such as one from another backend")
      .option("--file <file>", "the state, as terraform state pull prints it (default: stdin)")
      .option("--force", "replace the stored state whatever its lineage and serial")
      .addOption(yes("with --force: "))
      .action(
        action(async (run: Run, name: string, options: PushOptions) =>
          (await states()).push(run, name, options),
        ),
      ),
    [
      ["terraform state pull | windlass state push network", "import it from another backend"],
      ["windlass state push network --file network.tfstate", "from a file"],
    ],
  );
  examples(
    named("download", "write a version to stdout as JSON; it may contain secrets")
      .option("--serial <number>", "serial of the version (default: the newest)")
      .action(
        action(async (run: Run, name: string, { serial }: { serial?: string | undefined }) => {
          await (await states()).pull(run, name, serial);
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
          async (
            current: Run,
            name: string,
            options: { serial: string; yes?: true | undefined },
          ) => {
            const { run, configuration } = await inSpaceOf(current, name);
            const { id, name: found } = configuration;
            const { serial } = options;
            const { confirm } = await import("../terminal/ask.ts");
            await confirm(
              `Roll the state of "${found}" back to version ${serial}? Resources created since then are not destroyed, but terraform no longer manages them.`,
              options,
            );
            const { withRemedy } = await import("../api/failures.ts");
            const { lockRemedies, versionRemedies } = await import("../states/lock.ts");
            const params = { name: id, serial };
            const made = await run.api.call("rollBackState", { params }).catch((error: unknown) => {
              throw withRemedy(error, {
                ...lockRemedies(run.api, found),
                ...versionRemedies(run.api, found),
              });
            });
            showVersion(run, made);
            if (!run.json) (await states()).sayCheck(run, found);
          },
        ),
      ),
    [["windlass state rollback network --serial 7", "asks for confirmation"]],
  );
  named("unlock", "remove the lock of a lost job; first make sure its terraform has ended")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) => {
        await (await states()).unlock(run, name, options);
      }),
    );
  verbExamples(state, {
    versions: ["network", "newest first"],
    list: ["network", "their addresses"],
    show: ["network 'aws_instance.web[0]'", "its attributes"],
    pull: ["network > network.tfstate", "the newest version"],
    unlock: ["network", "after a runner was lost during an apply"],
  });
  return examples(state, [
    ["windlass state list network", "list the resources"],
    ["terraform state pull | windlass state push network", "import a state"],
    ["windlass state unlock network", "after a runner was lost during an apply"],
  ]);
}

async function inSpaceOf(run: Run, name: string) {
  const found = await import("../configurations/find.ts");
  return found.inSpaceOf(run, name);
}

function showVersion(run: Run, version: StateVersion): void {
  run.show(version, {
    serial: version.serial,
    lineage: version.lineage,
    resources: version.resources ?? "not known",
    bytes: version.size_bytes,
    md5: version.md5,
    job: version.job_id ?? undefined,
    created: time(version.created_at),
  });
}
