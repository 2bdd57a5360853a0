/** What is deployed of a configuration, in a line. */
import type { Deployed } from "../../../protocol/configurations.ts";
import { html, type Html } from "../page/html.ts";
import { ago, count } from "../page/words.ts";

/** Resources, serial, when and by whom; `Deployed` alone if the state is kept elsewhere. */
export const deployedView = (deployed: Deployed, now: string): Html => {
  const { serial, at, job_id, by } = deployed;
  const when = ago(at, now);
  return html`<strong>Deployed:</strong> ${deployedInWords(deployed)},
    ${job_id === null ? html`rolled back ${when}` : html`<a href="/jobs/${job_id}">${when}</a>`}
    ${by === null ? null : html`by ${by}`}
    ${serial === null ? null : html`<span class="soft">(serial ${serial})</span>`}`;
};

/** `3 resources`. */
export const deployedInWords = ({ resources }: Deployed): string =>
  resources === null ? "in its own backend" : count(resources, "resource");
