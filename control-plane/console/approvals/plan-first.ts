/** What is offered in place of a direct deployment where a configuration requires approvals. */
import { html, type Html } from "../page/html.ts";

/** Starts the plan, whose page has the next step. `targets`: it destroys only these. */
export const planForApproval = (
  configuration: string,
  isDestruction = false,
  targets: readonly string[] = [],
): Html =>
  html`<form method="post" action="/configurations/${configuration}/jobs">
    <input type="hidden" name="job_type" value="PLAN" />
    ${isDestruction ? html`<input type="hidden" name="mode" value="destroy" />` : null}
    ${targets.length === 0 ? null : html`<input type="hidden" name="targets" value="${targets.join("\n")}" />`}
    <button>
      ${isDestruction ? "Plan the destruction, then ask for approval" : "Plan, then ask for approval"}
    </button>
  </form>`;
