import { isDeepStrictEqual } from "node:util";
import type { FastifyRequest } from "fastify";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { UserCaller } from "../../services/callers.ts";
import { invalid, notFound } from "../../domain/refusal.ts";
import { time } from "../../domain/moments.ts";
import { getConfiguration, readValueMarks } from "../../services/configurations/configurations.ts";
import { updateConfiguration } from "../../services/configurations/update.ts";
import { deleteConfiguration } from "../../services/configurations/delete.ts";
import type { Context } from "../../services/context.ts";
import { getConnection, listConnections } from "../../services/connections/connections.ts";
import { listPullRequests } from "../../services/pull-requests/pull-requests.ts";
import { checkDrift } from "../../services/drift/checks.ts";
import { readPlanSummary } from "../../services/plans/read-summary.ts";
import { getCloudIdentity } from "../../services/identities/identities.ts";
import { createJob, listJobSummaries } from "../../services/jobs/jobs.ts";
import { listRuns } from "../../services/jobs/runs.ts";
import {
  breakStateLock,
  findStateLock,
  listStateVersions,
  rollBackState,
} from "../../services/states/versions.ts";
import { listSetsOfConfiguration } from "../../services/variable-sets/attached.ts";
import { listVariableSetNames } from "../../services/variable-sets/lists.ts";
import { listSchedules } from "../../services/schedules/schedules.ts";
import { seesWholeSpace } from "../../services/teams/spaces.ts";
import { getZoneName } from "../../services/zones/zones.ts";
import { ruleIn } from "../approvals/rule-view.ts";
import { jobsOfOne } from "../jobs/job-table.ts";
import { withSeenJobs } from "../schedules/seen-jobs.ts";
import { stateView } from "../states/state-view.ts";
import { attachOrDetach } from "../variable-sets/attach-input.ts";
import { attachedSets } from "../variable-sets/attached-view.ts";
import { editPages, newConfigurationPages } from "./configuration-form-routes.ts";
import { configurationOverview } from "./configuration-overview.ts";
import {
  configurationPage,
  configurationTabs,
  type ConfigurationTab,
} from "./configuration-page.ts";
import { configurationSettings } from "./configuration-settings.ts";
import { entriesForms } from "./entries-routes.ts";
import { expiryIn, seenExpiry } from "./expiry-view.ts";
import { followIn, writtenOf } from "./follow-view.ts";
import { entriesView, entryKinds } from "./entries-view.ts";
import type { FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { idIn, olderLink, readList } from "../page/list.ts";
import { planOptionsIn } from "../plans/plan-options.ts";
import type { PageForms } from "../page-forms.ts";
import type { SignedIn } from "../signed-in.ts";

/** Entries of a list at a time. */
const shown = 20;
/** Variable sets that can be chosen. */
const mostSets = 1000;
const mostConnections = 100;
/** Open pull requests on the overview. */
const pullsShown = 5;
const schedulesShown = 10;
/** How often the tabs are redrawn that jobs change, in seconds. */
const refresh = 3;

interface Visit {
  readonly caller: UserCaller;
  readonly request: FastifyRequest;
  readonly forms: FormsOf;
}

export function configurationPages(pages: SignedIn, context: Context): void {
  const find = (caller: UserCaller, params: unknown): Promise<Configuration> =>
    getConfiguration(context, caller, idIn(params, "configuration"));

  newConfigurationPages(pages, context);
  editPages(pages, context, find);

  const tab = (
    at: ConfigurationTab,
    draw: (configuration: Configuration, visit: Visit) => Promise<Html>,
    often: { readonly refresh?: number } = { refresh },
  ) =>
    pages.page(`/configurations/:id${at}`, "getConfiguration", {
      find,
      draw: async (configuration, visit) => {
        const [zone, inside] = await Promise.all([
          getZoneName(context, visit.caller, configuration.zone_id),
          draw(configuration, visit),
        ]);
        const { name } = configuration;
        const title = at === "" ? name : `${configurationTabs[at]} of ${name}`;
        const body = configurationPage(configuration, zone, at, visit.forms, inside);
        return { at: "/zones", ...often, title, body };
      },
    });

  const withStart = (page: PageForms<Configuration>, name: string, path: string) =>
    page.form(name, "createJob", {
      path,
      needs: "plan",
      input: (form, { id }) => ({
        job_type: form.text("job_type"),
        configuration_id: id,
        debug: form.isOn("debug"),
        ...(form.text("plan_job_id") === "" ? {} : { plan_job_id: form.text("plan_job_id") }),
        ...(form.isOn("deployed") ? { deployed: true } : {}),
        ...planOptionsIn(form),
      }),
      submit: async ({ caller, thing, form, input }) => {
        if (form.text("check") === "drift")
          return `/jobs/${(await checkDrift(context, caller, thing.id)).answer.id}`;
        if (form.text("job_type") === "DESTROY" && form.word("confirm") !== thing.name.trim())
          throw invalid("body.confirm", "this is not its name");
        return `/jobs/${(await createJob(context, caller, input())).id}`;
      },
    });

  const overview = tab("", async (configuration, { caller }) => {
    const { id, follow = null, drift } = configuration;
    const checked = drift?.status === "drifted" ? drift.job_id : null;
    const open = { configuration: id, state: "open" } as const;
    const [jobs, runs, lock, pulls, drifted, schedules] = await Promise.all([
      listJobSummaries(context, caller, { configuration: id, limit: shown }),
      listRuns(context, [id]),
      findStateLock(context, caller, id),
      follow && listPullRequests(context, caller, open, undefined, pullsShown, { digests: false }),
      checked === null ? null : readPlanSummary(context.store.read, checked, Infinity),
      listSchedules(context, caller, { configuration_id: id }, undefined, schedulesShown).then(
        (list) => withSeenJobs(context, caller, list),
      ),
    ]);
    const now = time(context.now());
    const shownRuns = runs.get(id) ?? [];
    return configurationOverview({
      configuration,
      jobs,
      runs: shownRuns,
      lock,
      pulls: pulls ?? [],
      seesAll: seesWholeSpace(caller),
      drifted,
      schedules,
      now,
    });
  });
  withStart(overview, "start", "/jobs");

  tab("/jobs", async ({ id }, { caller, request }) => {
    const { items, next } = await readList(request.query, shown, (before, limit) =>
      listJobSummaries(context, caller, { configuration: id, before, limit }),
    );
    return html`<div id="jobs" data-live>
      ${items.length === 0 ? html`<p class="soft">No job yet.</p>` : jobsOfOne(items, time(context.now()), "Jobs of the configuration")}
      ${olderLink(`/configurations/${id}/jobs`, next, "jobs")}
    </div>`;
  });

  const variables = tab(
    "/variables",
    async (configuration, { caller, forms }) => {
      const { id } = configuration;
      const [marks, sets, all] = await Promise.all([
        readValueMarks(context, caller, id),
        listSetsOfConfiguration(context, caller, id),
        seesWholeSpace(caller) ? listVariableSetNames(context, caller, mostSets) : [],
      ]);
      const path = `/configurations/${id}/variables`;
      return html`${entryKinds.map((kind) => entriesView(path, configuration, marks, kind, forms))}
      ${attachedSets(path, { ...sets, all }, forms("sets"))}`;
    },
    {},
  ).form("sets", "attachToConfiguration", {
    path: "/variable-sets",
    submit: async ({ caller, thing: { id }, form }) => {
      await attachOrDetach(context, caller, form, { configuration_id: id });
      return `/configurations/${id}/variables#variable-sets`;
    },
  });
  entriesForms(variables, {
    page: ({ id }) => `/configurations/${id}/variables`,
    does: "updateConfiguration",
    kinds: entryKinds,
    update: (caller, { id }, change) => updateConfiguration(context, caller, id, change),
  });

  tab("/state", async (configuration, { caller, request, forms }) => {
    const { id } = configuration;
    const { before } = request.query as { before?: unknown };
    const isSerial = typeof before === "string" && /^\d{1,15}$/.test(before);
    const [versions, lock] = await Promise.all([
      listStateVersions(context, caller, id, isSerial ? Number(before) : undefined, shown + 1),
      findStateLock(context, caller, id),
    ]);
    const items = versions.slice(0, shown);
    const next = versions.length > shown ? String(items.at(-1)!.serial) : undefined;
    const page = { configuration, lock, versions: { items, next, isFirst: !isSerial } };
    return stateView(page, forms("state"));
  })
    .form("state", "breakStateLock", {
      path: "/unlock",
      submit: async ({ caller, thing: { id } }) => {
        await breakStateLock(context, caller, id);
        return `/configurations/${id}/state`;
      },
    })
    .form("state", "rollBackState", {
      path: "/:serial/rollback",
      submit: async ({ caller, thing: { id }, params }) => {
        const { serial } = params as { serial: string };
        if (!/^\d{1,15}$/.test(serial)) throw notFound("state version");
        await rollBackState(context, caller, id, Number(serial));
        return `/configurations/${id}/state`;
      },
    });

  const settings = tab(
    "/settings",
    async (configuration, { caller, forms }) => {
      const { cloud_identity_id: id, follow } = configuration;
      const seesAll = seesWholeSpace(caller);
      const [identity, connections] = await Promise.all([
        id === null ? null : getCloudIdentity(context, caller, id),
        seesAll
          ? listConnections(context, caller, undefined, mostConnections)
          : Promise.all(follow ? [getConnection(context, caller, follow.connection_id)] : []),
      ]);
      const now = time(context.now());
      return configurationSettings({ configuration, identity, connections, seesAll, now }, forms);
    },
    {},
  )
    .form("rule", "updateConfiguration", {
      path: "/approval",
      needs: "administer",
      seen: ({ approval = null }: Pick<Configuration, "approval">) => approval,
      input: (form) => ({ approval: ruleIn(form) }),
      submit: async ({ caller, thing: { id }, input }) => {
        await updateConfiguration(context, caller, id, (now) => {
          const change = input(now);
          return isDeepStrictEqual(change.approval, now.approval) ? {} : change;
        });
        return `/configurations/${id}/settings#approvals`;
      },
    })
    .form("expiry", "updateConfiguration", {
      path: "/expiry",
      seen: seenExpiry,
      input: (form) => ({ expires_at: expiryIn(form) }),
      submit: async ({ caller, thing: { id }, input }) => {
        await updateConfiguration(context, caller, id, input);
        return `/configurations/${id}/settings#expiry`;
      },
    })
    .form("follow", "updateConfiguration", {
      path: "/follow",
      seen: ({ follow = null }: Pick<Configuration, "follow">) => writtenOf(follow),
      input: followIn,
      submit: async ({ caller, thing: { id }, input }) => {
        await updateConfiguration(context, caller, id, input());
        return `/configurations/${id}/settings#follow`;
      },
    })
    .form("remove", "deleteConfiguration", {
      path: "/delete",
      submit: async ({ caller, thing: { id, zone_id } }) => {
        await deleteConfiguration(context, caller, id);
        return `/zones/${zone_id}`;
      },
    });
  withStart(settings, "destroy", "/destroy");
}
