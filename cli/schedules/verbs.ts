/** The verbs of `windlass schedules`. */
import { cronText } from "../../common/cron.ts";
import { shellWord } from "../../common/shell-word.ts";
import { scheduleWindowLimit } from "../../protocol/limits.ts";
import type {
  CreateSchedule,
  Schedule,
  ScheduleKind,
  UpdateSchedule,
} from "../../protocol/schedules.ts";
import type { Api } from "../api/api.ts";
import { parseWholeNumber } from "../api/pages.ts";
import { teamWords } from "../api/team.ts";
import { configurationOf } from "../configurations/find.ts";
import type { Run } from "../run.ts";
import { findIn } from "../teams/elsewhere.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError } from "../terminal/output.ts";
import { parseComingTime } from "../terminal/parse-time.ts";
import { ago, timeAndAge, timeIn, until } from "../terminal/times.ts";
import { findZone } from "../zones/find.ts";

interface TargetOptions {
  readonly zone?: string | undefined;
  readonly configuration?: string | undefined;
}

export type ListOptions = TargetOptions;

interface FieldOptions extends TargetOptions {
  readonly kind?: ScheduleKind | undefined;
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
  readonly window?: string | undefined;
  readonly starts?: string | undefined;
  readonly ends?: string | undefined;
}

export interface CreateOptions extends FieldOptions {
  readonly kind: ScheduleKind;
  readonly disable?: true | undefined;
}

export interface UpdateOptions extends FieldOptions {
  readonly enable?: true | undefined;
  readonly disable?: true | undefined;
  readonly rename?: string | undefined;
}

export async function list(run: Run, schedules: readonly Schedule[]): Promise<void> {
  const nameOf = run.json ? () => "" : await namesOf(run.api, schedules);
  run.list(
    schedules,
    {
      NAME: ({ name }) => name,
      KIND: ({ kind }) => kind,
      OF: nameOf,
      WHEN: ({ cron, timezone }) => `${cron} ${timezone}`,
      NEXT: (it) => (it.next_at ? until(it.next_at) : never(it)),
      LAST: ({ last }) => last && `${lastWord(last)} ${ago(last.at)}`,
      ID: ({ id }) => id,
    },
    `There are no such schedules. To make one: windlass schedules create --help${teamWords(run.api.team)}`,
    { spare: ["LAST", "WHEN"] },
  );
}

const never = ({ enabled }: Schedule): string => (enabled ? "ended" : "disabled");

const lastWord = ({ skipped }: NonNullable<Schedule["last"]>): string =>
  skipped === undefined ? "queued" : "skipped";

export async function listSome(api: Api, options: ListOptions): Promise<Schedule[]> {
  const { zone_id, configuration_id } = await targetOf(api, options);
  const query = {
    ...(zone_id ? { zone_id } : {}),
    ...(configuration_id ? { configuration_id } : {}),
  };
  return (await api.call("listSchedules", { query })).schedules;
}

/** Returns a schedule by name or id. Throws `CliError` if there is none. */
export const scheduleOf = ({ api }: Run, name: string): Promise<Schedule> =>
  findIn(api, "schedule", "schedules", (one) => listSome(one, {}), name);

export async function show(run: Run, it: Schedule): Promise<void> {
  const nameOf = run.json ? () => "" : await namesOf(run.api, [it]);
  const { cron, timezone, window_minutes: window, next_at, last } = it;
  run.show(it, {
    name: it.name,
    id: it.id,
    kind: it.kind,
    of: nameOf(it),
    enabled: it.enabled ? "yes" : "no",
    comes: `${cronText(cron) ?? cron} (${cron}), ${timezone}`,
    spread: window === 0 ? null : `over ${window} minutes`,
    starts: it.starts_at && timeIn(timezone, it.starts_at),
    ends: it.ends_at && timeIn(timezone, it.ends_at),
    next: next_at ? `${timeIn(timezone, next_at)} (${until(next_at)})` : never(it),
    last: last && `${lastWord(last)} ${timeAndAge(last.at)}`,
    ...(last?.skipped === undefined ? {} : { why: last.skipped }),
    ...(last?.job_id === undefined ? {} : { "last job": last.job_id }),
    console: `${run.api.server}/schedules/${it.id}`,
  });
}

/** Says of what a schedule is, by the name. */
async function namesOf(
  api: Api,
  schedules: readonly Schedule[],
): Promise<(it: Schedule) => string> {
  const some = (key: "zone_id" | "configuration_id") => schedules.some((it) => it[key] !== null);
  const [{ zones }, { configurations }] = await Promise.all([
    some("zone_id") ? api.call("listZones") : { zones: [] },
    some("configuration_id") ? api.call("listConfigurations") : { configurations: [] },
  ]);
  const names = new Map([...zones, ...configurations].map(({ id, name }) => [id, name]));
  return ({ zone_id, configuration_id }) => {
    const id = configuration_id ?? zone_id ?? "";
    return `${zone_id ? "zone " : ""}${names.get(id) ?? id}`;
  };
}

export async function create(
  run: Run,
  name: string,
  { disable, ...options }: CreateOptions,
): Promise<void> {
  if (options.cron === undefined)
    throw new CliError('Say when it comes: --cron "0 2 * * *", for example', 2);
  const { timezone = Intl.DateTimeFormat().resolvedOptions().timeZone } = options;
  const fields = await fieldsOf(run.api, { ...options, timezone });
  if (fields.zone_id === undefined && fields.configuration_id === undefined)
    throw new CliError("Say what it runs: --configuration NAME or --zone NAME", 2);
  const body = { ...fields, name, ...(disable ? { enabled: false } : {}) } as CreateSchedule;
  const created = await run.api.call("createSchedule", { body });
  await show(run, created);
  const [own, team] = [shellWord(name), teamWords(run.api.team)];
  run.done(`To queue its jobs now: windlass schedules run ${own}${team}`);
}

export async function update(run: Run, name: string, options: UpdateOptions): Promise<void> {
  const { rename, enable, disable } = options;
  if (enable && disable) throw new CliError("Pass --enable or --disable, not both", 2);
  const body: UpdateSchedule = {
    ...(await fieldsOf(run.api, options)),
    ...(enable || disable ? { enabled: enable === true } : {}),
    ...(rename === undefined ? {} : { name: rename }),
  };
  if (Object.keys(body).length === 0)
    throw new CliError("Nothing to change. For help: windlass schedules update --help", 2);
  const { id } = await scheduleOf(run, name);
  await show(run, await run.api.call("updateSchedule", { params: { id }, body }));
}

export async function remove(
  run: Run,
  name: string,
  options: { readonly yes?: true | undefined },
): Promise<void> {
  const { id, name: found } = await scheduleOf(run, name);
  await confirm(`Delete the schedule "${found}"? Its jobs stay.`, options);
  await run.api.call("deleteSchedule", { params: { id } });
  run.done(`The schedule "${found}" is deleted.`);
}

export async function runNow(run: Run, name: string): Promise<void> {
  const { id, name: found } = await scheduleOf(run, name);
  const after = await run.api.call("runSchedule", { params: { id } });
  const { last, zone_id } = after;
  if (run.json || zone_id === null) await show(run, after);
  const team = teamWords(run.api.team);
  if (zone_id !== null)
    return run.done(
      `The schedule "${found}" queues a job of each configuration of its zone. To see them: windlass jobs list --zone ${zone_id}${team}`,
    );
  if (last?.skipped !== undefined) throw new CliError(`Nothing was queued: ${last.skipped}`);
  run.done(
    last?.job_id === undefined
      ? `The schedule "${found}" waits for room in the queue.`
      : `To follow the job: windlass jobs logs ${last.job_id} --follow${team}`,
  );
}

async function targetOf(api: Api, { zone, configuration }: TargetOptions) {
  if (zone !== undefined && configuration !== undefined)
    throw new CliError("Pass --configuration or --zone, not both", 2);
  return {
    ...(zone === undefined ? {} : { zone_id: (await findZone(api, zone)).id }),
    ...(configuration === undefined
      ? {}
      : { configuration_id: (await configurationOf(api, configuration)).id }),
  };
}

async function fieldsOf(
  api: Api,
  { kind, cron, timezone, window, starts, ends, ...target }: FieldOptions,
): Promise<UpdateSchedule> {
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(cron === undefined ? {} : { cron }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(window === undefined
      ? {}
      : { window_minutes: parseWholeNumber("--window", window, scheduleWindowLimit) }),
    ...(starts === undefined ? {} : { starts_at: parseComingTime("--starts", starts) }),
    ...(ends === undefined ? {} : { ends_at: parseComingTime("--ends", ends) }),
    ...(await targetOf(api, target)),
  };
}
