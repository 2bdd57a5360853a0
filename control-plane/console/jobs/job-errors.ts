/** Why a job failed, and what terraform warns of, at the top of its page. */
import type { JobWarning } from "../../../protocol/job-warnings.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { visible } from "../../../protocol/plan-text.ts";
import type { TerraformDiagnostic } from "../../../common/terraform-diagnostics.ts";
import { failedBy } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { count } from "../page/words.ts";

/** The message of the job; if its log has errors of terraform, each with its file and line. */
export const jobErrors = (
  job: Pick<Job, "error_message" | "failure" | "configuration_id">,
  errors: readonly TerraformDiagnostic[],
): Html | null => {
  const { error_message, failure, configuration_id } = job;
  if (error_message === null) return null;
  if (errors.length === 0) return html`<p class="error" role="alert">${error_message}</p>`;
  const isWithheld = failedBy(job, "values_withheld");
  const isMissing = isWithheld || failedBy(job, "missing_variables");
  const variables = isMissing ? (failure?.variables ?? []) : [];
  return html`<section class="error flow" role="alert" aria-label="Errors">
    <p>${failure?.summary ?? count(errors.length, "error")}</p>
    <ul class="errors">
      ${eachOnce(errors).map(
        ({ summary, detail, address, file, line, code, times }) =>
          html`<li>
            <strong>${summary}</strong>
            ${times === 1 ? null : html`<span class="soft">${count(times, "time")}</span>`}
            ${address === null ? null : html`<code>${visible(address)}</code>`}
            ${file === null ? null : html`<code>${file}:${line}</code>`} ${inLog("Error", summary)}
            ${detail === "" ? null : html`<p>${detail}</p>`}
            ${code === "" ? null : html`<pre tabindex="0">${code}</pre>`}
          </li>`,
      )}
    </ul>
    ${
      variables.length === 0 || configuration_id === null
        ? null
        : html`<p>
            ${isWithheld ? "Plans of pull requests do not get" : "Set"}
            ${variables.map((name) => html`<code>${name}</code> `)}${
              isWithheld
                ? html`: change which values they get in
                    <a href="/configurations/${configuration_id}/settings#follow">the settings</a>`
                : html`in <a href="/configurations/${configuration_id}/variables">the variables</a>`
            }
            of the configuration.
          </p>`
    }
  </section>`;
};

/**
 * Those that name a resource or a file first. An apply that is cut off prints the same error, without
 * either, for every resource in progress.
 */
const eachOnce = (errors: readonly TerraformDiagnostic[]) =>
  [...Map.groupBy(errors, (error) => JSON.stringify(error)).values()]
    .flatMap((same) => same.slice(0, 1).map((error) => ({ ...error, times: same.length })))
    .toSorted((a, b) => Number(isPlaced(b)) - Number(isPlaced(a)));

const isPlaced = ({ address, file }: TerraformDiagnostic): boolean =>
  address !== null || file !== null;

/** The warnings of terraform that the runner of a job has reported. */
export const jobWarnings = (warnings: readonly JobWarning[]): Html | null =>
  warnings.length === 0
    ? null
    : html`<section class="notice flow" aria-label="Warnings">
        <p>${count(warnings.length, "warning")}</p>
        <ul class="errors">
          ${warnings.map(
            ({ summary, detail, address, file, line }) =>
              html`<li>
                <strong>${summary}</strong>
                ${address === undefined ? null : html`<code>${visible(address)}</code>`}
                ${file === undefined ? null : html`<code>${file}:${line}</code>`}
                ${inLog("Warning", summary)} ${detail === undefined ? null : html`<p>${detail}</p>`}
              </li>`,
          )}
        </ul>
      </section>`;

/** Characters of a summary that terraform has on one line at least, unless a word is very long. */
const searched = 50;

/** The log is searched for the beginning. */
const inLog = (severity: "Error" | "Warning", summary: string): Html =>
  html`<a
    href="#F${encodeURIComponent(`${severity}: ${summary.slice(0, searched).toWellFormed()}`)}"
    >In the log</a
  >`;
