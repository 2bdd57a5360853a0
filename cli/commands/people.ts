/** `windlass logins`, `repositories` and `audit`: what belongs to the person. */
import { Option } from "@commander-js/extra-typings";
import { examples, noun, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { time } from "../terminal/times.ts";

/** `windlass logins`. */
export function loginsCommand() {
  const logins = noun("logins", "where you are signed in: browsers and command lines");
  logins
    .command("list")
    .description("list them, newest first; this one is marked")
    .action(
      action(async ({ api, list }) => {
        const answer = await api.call("listLogins");
        list(
          answer.logins,
          {
            "": ({ current }) => (current ? "*" : " "),
            KIND: ({ kind }) => (kind === "cli" ? "command line" : "browser"),
            SINCE: ({ created_at }) => time(created_at),
            UNTIL: ({ expires_at }) => time(expires_at),
            ID: ({ id }) => id,
          },
          "You are signed in nowhere.",
        );
      }),
    );
  logins
    .command("delete")
    .description("end one: its tokens are refused at once")
    .argument("<id>", "id of the login")
    .action(
      action(async (run: Run, id: string) => {
        await run.api.call("revokeLogin", { params: { id } });
        run.done("That login is ended.");
      }),
    );
  verbExamples(logins, {
    list: ["", "to find what should not be there"],
    delete: ["01890a5d-…", "one of them"],
  });
  return examples(logins, [["windlass logins list", "to find what should not be there"]]);
}

/** `windlass repositories`. */
export function repositoriesCommand() {
  const repositories = noun("repositories", "your repositories at a code host you signed in with");
  examples(
    repositories
      .command("list")
      .description("list them, as the code host answers")
      .argument("<provider>", "github, gitlab or bitbucket")
      .action(
        action(async ({ api, list }, git_provider: string) => {
          const answer = await api.call("listRepositories", { params: { git_provider } });
          list(
            answer.repositories,
            {
              NAME: ({ full_name }) => full_name,
              BRANCH: ({ default_branch }) => default_branch,
              PRIVATE: (one) => (one.private ? "yes" : "no"),
              URL: ({ clone_url }) => clone_url,
            },
            "There are none.",
          );
        }),
      ),
    [["windlass repositories list github --json | jq -r '.[].clone_url'", "for a script"]],
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

/** `windlass audit`. */
export function auditCommand() {
  const audit = noun("audit", "who did what to your things");
  const list = audit
    .command("list")
    .description("list what was done, newest first")
    .option("--action <noun.verb>", "only this action, such as job.create")
    .option("--target <id>", "only what was done to this thing")
    .addOption(new Option("--since <time>", "from this time on, such as 2026-01-31 or …T12:00Z"))
    .option("--until <time>", "before this time")
    .option("--limit <count>", "how many", "20")
    .action(action(async (run: Run, options: AuditOptions) => listAudit(run, options)));
  examples(list, [
    ["windlass audit list --action job.create --since 2026-01-31", "who queued jobs since then"],
    ["windlass audit list --limit 10000 --json", "for programs"],
  ]);
  return audit;
}

async function listAudit(run: Run, options: AuditOptions): Promise<void> {
  const { countOf, readPages } = await import("../api/pages.ts");
  const since = await momentOf("--since", options.since);
  const until = await momentOf("--until", options.until);
  const { items, more } = await readPages(countOf("--limit", options.limit), async (page) => {
    const answer = await run.api.call("listAuditEntries", {
      query: {
        ...page,
        // A wrong one is refused by the server, which knows them all.
        ...(options.action === undefined ? {} : { action: options.action as "job.create" }),
        ...(options.target === undefined ? {} : { target_id: options.target }),
        ...(since === undefined ? {} : { since }),
        ...(until === undefined ? {} : { until }),
      },
    });
    return { items: answer.audit_entries, next_cursor: answer.next_cursor };
  });
  run.list(
    items,
    {
      WHEN: ({ created_at }) => time(created_at),
      ACTION: (entry) => entry.action,
      WHO: ({ actor }) => actor.name ?? actor.kind,
      WHAT: ({ target }) => target.name ?? target.id,
      FROM: ({ ip_address }) => ip_address,
    },
    "Nothing of that kind was done.",
  );
  if (more) run.done(`There are older ones: --limit ${Number(options.limit) * 5}`);
}

async function momentOf(option: string, text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return undefined;
  const moment = new Date(text);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  const { Failure } = await import("../terminal/output.ts");
  throw new Failure(`${option} "${text}" is no time, such as 2026-01-31 or 2026-01-31T12:00Z`, 2);
}
