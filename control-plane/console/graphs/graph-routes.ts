/** The pages of resource graphs. */
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { notFound } from "../../domain/refusal.ts";
import { getConfiguration } from "../../services/configurations/configurations.ts";
import type { Context } from "../../services/context.ts";
import { drawState } from "../../services/graphs/graphs.ts";
import { getJob } from "../../services/jobs/jobs.ts";
import { getPlanSummary } from "../../services/plans/summaries.ts";
import { html, type Html } from "../page/html.ts";
import { idIn } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { choiceOf, graphView } from "./graph-page.ts";

export function graphPages(pages: SignedIn, context: Context): void {
  pages.get("/configurations/:id/graph", "read", async (caller, { params, query }) => {
    const id = idIn(params, "configuration");
    const { name } = await getConfiguration(context, caller, id);
    const { serial, graph } = await drawState(context, caller, id, choiceOf(query));
    const title = `Resources of ${name}`;
    const body = html`<nav class="trail" aria-label="Above">
        <a href="/configurations/${id}">${name}</a>
      </nav>
      <h1>${title}</h1>
      ${serial === null ? null : html`<p class="soft">From the state with serial ${String(serial)}</p>`}
      ${graphView(graph, title, `/configurations/${id}/graph`)}`;
    return { at: "/zones", title, body };
  });
  pages.get("/jobs/:id/graph", "read", async (caller, { params, query }) => {
    const id = idIn(params, "job");
    const [{ job_type, configuration_id: configuration }, { plan_summary: plan }] =
      await Promise.all([getJob(context, caller, id), getPlanSummary(context, caller, id)]);
    if (plan === null || configuration === null) throw notFound("plan");
    const { name } = await getConfiguration(context, caller, configuration);
    const choice = choiceOf(query);
    const { graph } = await drawState(context, caller, configuration, choice, plan);
    const title = `Resources in the ${job_type} of ${name}`;
    const body = html`<nav class="trail" aria-label="Above">
        <a href="/jobs/${id}">${job_type} of ${name}</a>
      </nav>
      <h1>${title}</h1>
      <p class="soft">${origin(plan)}</p>
      ${omitted(plan)} ${graphView(graph, title, `/jobs/${id}/graph`)}`;
    return { at: "/jobs", title, body };
  });
}

/** Where the arrows come from. An older runner sends none. */
const origin = ({ graph }: PlanSummary): string =>
  graph === undefined
    ? "Dependencies are those of the newest state: what a new resource needs is shown after it is created."
    : "What the changed resources need comes from the configuration, everything else from the newest state. What a new resource needs through a local value or a dynamic block is shown after it is created.";

const omitted = ({ changes_omitted: count }: PlanSummary): Html | null =>
  count === 0
    ? null
    : html`<p class="warning flow">
        The plan has ${count.toLocaleString("en")} more changes than it lists; they are not in the
        graph.
      </p>`;
