/** Commands in comments: who may give them is asked when they are carried out, and each is once. */
import { v7 as uuid } from "uuid";
import { HostError } from "../../code-hosts/host-calls.ts";
import type { ExecutionMetadata } from "../../../protocol/jobs.ts";
import type { Kind } from "../../code-hosts/kinds.ts";
import { accountHost, type CodeHost } from "../../domain/providers.ts";
import { highestRole, mayDo, roleIn, wholeAccess, zonesOf } from "../../domain/roles.ts";
import { findZonesOfSpecs } from "../../store/configurations/configurations.ts";
import { findCommands, takeCommand } from "../../store/connections/commands.ts";
import { findAnyDeployOf } from "../../store/connections/job-changes.ts";
import {
  findJobsOfPullRequest,
  findPullRequest,
  findPullRequestByNumber,
  type FollowerRow,
  type PullRequestRow,
} from "../../store/connections/polls.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { findAccount } from "../../store/people/accounts.ts";
import { isBlocked } from "../../store/people/admission.ts";
import { findMember } from "../../store/teams/members.ts";
import { isRecent, type CommentCommand } from "../connections/comment-commands.ts";
import { connectionCreator, type Creator } from "../jobs/creator.ts";
import { mayStay } from "../people/admission.ts";
import { isApplyable } from "../plans/applyable.ts";
import { changeOfPull, isTouched, mayPlan, queueEach, requestOf, skipReason } from "./plans.ts";
import { settingsOf, type Place } from "./place.ts";
import { plansOf } from "./posting.ts";

/** A command about a pull request that is open. */
interface Given {
  readonly place: Place;
  readonly command: CommentCommand;
  readonly row: PullRequestRow;
  /** The configurations that take commands. */
  readonly own: readonly FollowerRow[];
  /** In the transaction that carries it out. False: another server has, or there are new commits. */
  take(tx: Queries): Promise<boolean>;
}

export async function runCommands(place: Place, followers: readonly FollowerRow[]): Promise<void> {
  const { context, connection, repository, problems } = place;
  for (const one of await context.store.read.all(findCommands, { connection: connection.id })) {
    const command = JSON.parse(one.command) as CommentCommand;
    if (command.repository !== repository.id) continue;
    try {
      await runCommand(place, followers, command, one.delivery_id);
    } catch (error) {
      if (!(error instanceof HostError) || error.retryAfter !== undefined) throw error;
      problems.push(`the command in ${repository.full_name}#${command.pull}: ${error.message}`);
    }
  }
}

async function runCommand(
  place: Place,
  followers: readonly FollowerRow[],
  command: CommentCommand,
  delivery: string,
): Promise<void> {
  const { context, connection, host, repository } = place;
  const { store } = context;
  const key = { connection: connection.id, delivery };
  const row = await store.read.first(findPullRequestByNumber, {
    connection: connection.id,
    repository: repository.id,
    number: command.pull,
  });
  const own = followers.filter(
    (one) => one.branch === row?.base_branch && settingsOf(one).commands,
  );
  // Others are not told that there are commands.
  if (
    row?.state !== "open" ||
    own.length === 0 ||
    !isRecent(command, context.now()) ||
    !(await host.mayWrite(repository, command.author.name))
  )
    return void (await store.write((tx) => tx.first(takeCommand, key)));
  const take = async (tx: Queries) => {
    const now = await tx.first(findPullRequest, { id: row.id });
    const isSame = now?.state === "open" && now.head_commit === row.head_commit;
    return isSame && (await tx.first(takeCommand, key)) !== undefined;
  };
  const carryOut = command.verb === "plan" ? plan : deploy;
  const refused: string[] = [];
  const given = { place: { ...place, problems: refused }, command, row, own, take };
  const reason = await carryOut(given);
  if (reason !== undefined && (await store.write(take))) refused.push(reason);
  if (refused.length === 0) return;
  const text = `\`windlass ${command.verb}\` was refused: ${refused.join("; ")}`;
  await host.writeComment(repository, row.number, text, null);
}

/** Returns why it is refused. */
async function plan({ place, row, own, take }: Given): Promise<string | undefined> {
  const skipped = skipReason(row, own);
  if (skipped !== null) return skipped;
  const may = own.filter((one) => mayPlan(row, one));
  if (may.length === 0) return "a person must let this commit of a fork be planned first";
  const changed = await place.host.changedFiles(place.repository, row.number);
  const wanted = [];
  for (const one of may) if (await isTouched(place.context, one, changed)) wanted.push(one);
  if (wanted.length === 0) return "the files belong to no configuration that takes commands";
  await queueEach(place, wanted, {
    requestOf: (one) =>
      requestOf(place, one, changeOfPull(place, row), { pull_request_id: row.id }),
    before: async (tx) => {
      if (!(await take(tx))) return undefined;
      const jobs = await tx.all(findJobsOfPullRequest, { pull_request: row.id });
      const waiting = jobs.filter(
        ({ commit_id, status }) =>
          commit_id === row.head_commit && (status === "QUEUED" || status === "PROCESSING"),
      );
      return new Set(waiting.map(({ spec_id }) => spec_id ?? ""));
    },
  });
  return undefined;
}

/** Returns why it is refused. */
async function deploy(given: Given): Promise<string | undefined> {
  const { place, command, row, own, take } = given;
  const { context } = place;
  const { read } = context.store;
  const { commit } = command;
  if (commit === undefined || !row.head_commit.startsWith(commit))
    return `it must name the newest commit, whose plan you have read: \`windlass deploy ${row.head_commit.slice(0, 12)}\``;
  const by = await deployerOf(read, given);
  if (!by || !(await mayStay(context, by.user_id ?? "")))
    return "your account here belongs to no member who may deploy: connect it in Windlass, in Settings";
  const plans = new Map<string, string>();
  for (const { spec_id, job_id, status } of await plansOf(read, row)) {
    if (spec_id === null || status !== "SUCCESS" || !(await isApplyable(read, job_id))) continue;
    if (await isOfMerge(read, job_id))
      return `${row.base_branch} has commits that this branch lacks: merge it into the branch, and deploy the plan of that`;
    plans.set(spec_id, job_id);
  }
  const wanted = own.filter(({ spec_id }) => plans.has(spec_id));
  if (wanted.length === 0) return "no plan of this commit has changes that can be deployed";
  const specs = wanted.map(({ spec_id }) => spec_id);
  if (!(await deployerOf(read, given, specs)))
    return "your roles do not permit to deploy in the zones of all configurations that it changes";
  await queueEach(place, wanted, {
    requestOf: ({ spec_id: configuration_id }) =>
      Promise.resolve({
        id: uuid(),
        by,
        input: {
          job_type: "DEPLOY",
          configuration_id,
          plan_job_id: plans.get(configuration_id)!,
        },
      }),
    before: async (tx) => {
      const now = await deployerOf(tx, given, specs);
      if (now?.user_id !== by.user_id || !(await take(tx))) return undefined;
      const done = new Set<string>();
      for (const [spec, plan_id] of plans)
        if (await tx.first(findAnyDeployOf, { plan: plan_id })) done.add(spec);
      return done;
    },
  });
  return undefined;
}

/** No commit has the files of such a plan, so a runner refuses to deploy it. */
async function isOfMerge(read: Queries, id: string): Promise<boolean> {
  const job = await read.first(findJob, { id });
  const { merged } = JSON.parse(job?.execution_metadata ?? "{}") as ExecutionMetadata;
  return merged !== undefined && !merged.is_head_only && !merged.is_current;
}

/** Where people sign in with their account at a host of this kind. */
const providers: Readonly<Partial<Record<Kind, CodeHost>>> = {
  github: "github",
  github_app: "github",
  gitlab: "gitlab",
  bitbucket: "bitbucket",
};

/** The member who has connected the account, and may deploy these configurations; none: any one. */
async function deployerOf(
  queries: Queries,
  { place: { connection }, command: { author } }: Given,
  specs?: readonly string[],
): Promise<Creator | undefined> {
  const { kind, base_url: baseUrl, owner_id: space } = connection;
  const provider = providers[kind];
  if (provider === undefined) return undefined;
  const host = accountHost(provider, { baseUrl });
  const account = await findAccount(queries, { provider, host, subject: author.id });
  if (!account) return undefined;
  const { user_id: user, user_email: email } = account;
  const member = await queries.first(findMember, { space, user });
  // A personal space has the id of its user.
  const access =
    space === user
      ? wholeAccess("admin")
      : member && { role: member.role, zones: zonesOf(member.zones) };
  if (!access || (await isBlocked(queries, user, [email.toLowerCase()]))) return undefined;
  const zones =
    specs && (await queries.all(findZonesOfSpecs, { owner: space, specs: JSON.stringify(specs) }));
  const roles = zones?.map((zone) => roleIn(access, zone)) ?? [highestRole(access)];
  if (!roles.every((role) => mayDo({ role, login_kind: "session" }, "deploy"))) return undefined;
  const name = `${email} (comment)`;
  const { actor } = connectionCreator(connection);
  return { space_id: space, name, user_id: user, actor: { ...actor, name }, queue_class: 1 };
}
