/** Why a job failed, at the top of its page. */
import type { Job } from "../../../protocol/jobs.ts";
import { visible } from "../../../protocol/plan-text.ts";
import type { TerraformError } from "../../../common/terraform-diagnostics.ts";
import { failedCommand, missingVariables } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { count } from "../page/words.ts";

/** The message of the job; if its log has errors of terraform, each with its file and line. */
export const jobErrors = (
  { error_message, configuration_id }: Pick<Job, "error_message" | "configuration_id">,
  errors: readonly TerraformError[],
): Html | null => {
  if (error_message === null) return null;
  if (errors.length === 0) return html`<p class="error" role="alert">${error_message}</p>`;
  const said = errors.map(({ summary, detail }) => `${summary}: ${detail}`).join("\n");
  const variables = missingVariables(said);
  const lead = failedCommand(error_message);
  return html`<section class="error flow" role="alert" aria-label="Errors">
    <p>${lead ?? count(errors.length, "error")}</p>
    <ul class="errors">
      ${errors.map(
        ({ summary, detail, address, file, line, code }) =>
          html`<li>
            <strong>${summary}</strong>
            ${address === null ? null : html`<code>${visible(address)}</code>`}
            ${file === null ? null : html`<code>${file}:${line}</code>`}
            ${detail === "" ? null : html`<p>${detail}</p>`}
            ${code === "" ? null : html`<pre tabindex="0">${code}</pre>`}
          </li>`,
      )}
    </ul>
    ${
      variables.length === 0 || configuration_id === null
        ? null
        : html`<p>
            Set ${variables.map((name) => html`<code>${name}</code> `)}in
            <a href="/configurations/${configuration_id}#variables">the variables</a> of the
            configuration.
          </p>`
    }
  </section>`;
};
