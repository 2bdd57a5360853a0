/** The names that a shell offers. Asked by the completion scripts, which remember them. */
import { openApi, type Api } from "../api/api.ts";
import { nameOf } from "../jobs/words.ts";
import type { Run } from "../run.ts";
import { principalOf } from "../../protocol/identity-kinds.ts";
import { clean, print } from "../terminal/output.ts";
import type { Kind } from "./script.ts";

/** A shell waits for the names, so a slow server has none (ms). */
const patience = 2000;
const jobsOffered = 30;

/** Prints one name per line, with what it is behind a tab; nothing if the server cannot be asked. */
export async function printNames(run: Run, kind: Kind): Promise<void> {
  try {
    const signal = AbortSignal.any([run.signal, AbortSignal.timeout(patience)]);
    const { settings, server, profile } = run;
    // While the name of a team is typed, `--team` has only its beginning.
    const team = kind === "teams" ? undefined : run.team;
    const lines = await read[kind](openApi({ settings, server, profile, team, signal }));
    // Several workers may have one name. It is offered once.
    for (const [name, meaning] of new Map(lines)) print(`${name}\t${clean(meaning)}`);
  } catch {
    // A message in the middle of a command line would help no one.
  }
}

type Line = readonly [name: string, meaning: string];

const read: Readonly<Record<Kind, (api: Api) => Promise<Line[]>>> = {
  configurations: async (api) =>
    (await api.call("listConfigurations")).configurations.map(({ name, status }) => [name, status]),
  zones: async (api) => (await api.call("listZones")).zones.map(({ name }) => [name, "zone"]),
  "variable-sets": async (api) =>
    (await api.call("listVariableSets")).variable_sets.map(({ name }) => [name, "variable set"]),
  teams: async (api) => (await api.call("listTeams")).teams.map(({ slug, name }) => [slug, name]),
  workers: async (api) =>
    (await api.call("listWorkers")).workers.map(({ name, status }) => [name, status]),
  identities: async (api) =>
    (await api.call("listCloudIdentities")).cloud_identities.map((identity) => [
      identity.name,
      principalOf(identity),
    ]),
  connections: async (api) =>
    (await api.call("listConnections")).connections.map(({ name, kind }) => [name, kind]),
  notifications: async (api) =>
    (await api.call("listNotifications")).notifications.map(({ name, to }) => [name, to.kind]),
  schedules: async (api) =>
    (await api.call("listSchedules")).schedules.map(({ name, kind }) => [name, kind]),
  jobs: (api) => jobsOf(api, {}),
  approvals: (api) => jobsOf(api, { waiting_for_me: true }),
};

async function jobsOf(api: Api, filter: { readonly waiting_for_me?: true }): Promise<Line[]> {
  const { jobs } = await api.call("listJobs", { query: { ...filter, limit: jobsOffered } });
  return jobs.map((job) => [job.id, `${nameOf(job)}, ${job.status}`]);
}
