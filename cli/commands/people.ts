/** `windlass logins`, `repositories` and `audit`. */
import { examples, limit, noun, timeHelp, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { time } from "../terminal/times.ts";

export function loginsCommand() {
  const logins = noun("logins", "your logins, in browsers and clients");
  logins
    .command("list")
    .description("list your logins, newest first; * marks the current one")
    .action(
      action(async ({ api, list }) => {
        const response = await api.call("listLogins");
        list(
          response.logins,
          {
            "": ({ current }) => (current ? "*" : " "),
            KIND: ({ kind }) => (kind === "cli" ? "client" : "browser"),
            SINCE: ({ created_at }) => time(created_at),
            UNTIL: ({ expires_at }) => time(expires_at),
            ID: ({ id }) => id,
          },
          "You have no logins.",
        );
      }),
    );
  logins
    .command("delete")
    .description("end a login; its tokens stop working at once")
    .argument("<id>", "id of the login, or the beginning of it")
    .action(
      action(async (run: Run, named: string) => {
        const { find } = await import("../api/find.ts");
        const { logins: all } = await run.api.call("listLogins");
        const { id } = find({ team: undefined }, "login", "logins", all, named);
        await run.api.call("revokeLogin", { params: { id } });
        run.done("The login is ended.");
      }),
    );
  verbExamples(logins, {
    list: ["", "find logins that you do not recognise"],
    delete: ["01890a5d-ac96", "end this one"],
  });
  return examples(logins, [["windlass logins list", "find logins that you do not recognise"]]);
}

export function repositoriesCommand() {
  const repositories = noun(
    "repositories",
    "your repositories at the code hosts that you sign in with",
  );
  examples(
    repositories
      .command("list")
      .description("list your repositories at a code host")
      .argument("<provider>", "github, gitlab or bitbucket")
      .action(
        action(async ({ api, list }, git_provider: string) => {
          const response = await api.call("listRepositories", { params: { git_provider } });
          list(
            response.repositories,
            {
              NAME: ({ full_name }) => full_name,
              BRANCH: ({ default_branch }) => default_branch,
              PRIVATE: (one) => (one.private ? "yes" : "no"),
              URL: ({ clone_url }) => clone_url,
            },
            "There are no repositories.",
          );
        }),
      ),
    [["windlass repositories list github --json | jq -r '.[].clone_url'", "print the URLs"]],
  );
  return repositories;
}

interface AuditOptions {
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly limit: string;
}

export function auditCommand() {
  const audit = noun("audit", "the audit log: who did what, and when");
  const list = audit
    .command("list")
    .description("list audit entries, newest first")
    .option("--action <noun.verb>", "only this action, such as job.create")
    .option("--target <id>", "only actions on the resource with this id, which must be whole")
    .option("--since <time>", `at or after this time, ${timeHelp}`)
    .option("--until <time>", "before this time")
    .addOption(limit("the number of entries to list"))
    .action(action(async (run: Run, options: AuditOptions) => listAudit(run, options)));
  examples(list, [
    ["windlass audit list --action job.create --since 2026-01-31", "jobs created since that day"],
    ["windlass audit list --limit 10000 --json", "for scripts"],
  ]);
  return audit;
}

async function listAudit(run: Run, options: AuditOptions): Promise<void> {
  const { parseCount, readPages } = await import("../api/pages.ts");
  const { parseTime } = await import("../terminal/parse-time.ts");
  const since = parseTime("--since", options.since);
  const until = parseTime("--until", options.until);
  if (options.target !== undefined) await checkTarget(options.target);
  const { items, more } = await readPages(parseCount("--limit", options.limit), async (page) => {
    const response = await run.api.call("listAuditEntries", {
      query: {
        ...page,
        // The server validates it.
        ...(options.action === undefined ? {} : { action: options.action as "job.create" }),
        ...(options.target === undefined ? {} : { target_id: options.target }),
        ...(since === undefined ? {} : { since }),
        ...(until === undefined ? {} : { until }),
      },
    });
    return { items: response.audit_entries, next_cursor: response.next_cursor };
  });
  run.list(
    items,
    {
      WHEN: ({ created_at }) => time(created_at),
      ACTION: (entry) => entry.action,
      WHO: ({ actor }) => actor.name ?? actor.kind,
      WHAT: ({ target, configuration }) =>
        configuration?.name
          ? `${target.name} of ${configuration.name}`
          : (target.name ?? target.id),
      FROM: ({ ip_address }) => ip_address,
    },
    "There are no such audit entries.",
  );
  if (more) run.cut("entries");
}

/** Throws `CliError` for the beginning of an id, by which the log has no entries. */
async function checkTarget(id: string): Promise<void> {
  const { idPrefixOf, isWholeId } = await import("../api/ids.ts");
  const isHash = /^[0-9a-f]{16}$/.test(id);
  if (idPrefixOf(id) === undefined || isWholeId(id) || isHash) return;
  const { CliError } = await import("../terminal/output.ts");
  throw new CliError(`--target must be a whole id, not "${id}". show prints whole ids.`, 2);
}
