/** Whether the infrastructure still is what was deployed, on the pages of a configuration. */
import type { Configuration } from "../../../protocol/configurations.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { driftText } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { ago, badge } from "../page/words.ts";
import { driftView } from "../plans/plan-view.ts";

export const driftedBadge: Html = badge("WARNING", "Drifted");

/** Nothing of what is in sync or was never checked. */
export const driftBadge = ({ drift }: Pick<Configuration, "drift">): Html | null =>
  drift?.status === "drifted" ? driftedBadge : null;

const button = (id: string, words: string, needs: "plan" | "deploy", fields: Html): Html =>
  html`<form method="post" action="/configurations/${id}/jobs" data-needs="${needs}">
    ${fields}<button class="quiet">${words}</button>
  </form>`;

const field = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}" />`;

/** `plan`: of the check, if something has drifted. */
export function driftSection(
  { id, drift, deployed }: Configuration,
  plan: PlanSummary | null,
  now: string,
): Html | null {
  if (!drift || deployed === null) return null;
  const { status, checked_at, job_id } = drift;
  const words = driftText(drift);
  const text = `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
  const when = checked_at === null ? null : ago(checked_at, now);
  const isDrifted = status === "drifted" && job_id !== null;
  return html`<section aria-labelledby="drift-title">
    <h2 id="drift-title">Drift</h2>
    <p>
      ${text}${when === null ? null : html`, <a href="/jobs/${job_id}">checked ${when}</a>`}.
      ${isDrifted ? html`<span class="soft">Accept records this in the state; put back plans what was deployed.</span>` : null}
    </p>
    ${isDrifted && plan ? driftView(plan) : null}
    <div class="actions">
      ${button(id, "Check now", "plan", field("check", "drift"))}
      ${
        isDrifted
          ? html`${button(id, "Accept", "deploy", html`${field("job_type", "DEPLOY")}${field("plan_job_id", job_id)}`)}
            ${button(id, "Put back", "plan", html`${field("job_type", "PLAN")}${field("deployed", "on")}`)}`
          : null
      }
    </div>
  </section>`;
}
