/** What is deployed of a configuration, in a line. */
import type { Deployed } from "../../../protocol/deployed.ts";
import { resourcesText } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { ago } from "../page/words.ts";

/** Resources, when, by whom and the serial, with a link to the job. */
export const deployedView = (deployed: Deployed, now: string): Html => {
  const { serial, job_id } = deployed;
  const when = whenOf(deployed, now);
  return html`<strong>Deployed:</strong> ${resourcesOf(deployed)}
    ${job_id === null ? html`stored ${when}` : html`<a href="/jobs/${job_id}">${when}</a>`}
    ${byOf(deployed)} ${serial === null ? null : html`<span class="soft">(serial ${serial})</span>`}`;
};

export const deployedInShort = (deployed: Deployed | null, now: string): Html | string =>
  deployed === null
    ? "–"
    : html`${resourcesOf(deployed)} ${whenOf(deployed, now)} ${byOf(deployed)}`;

/** The server knows only the time if it does not keep the state. */
const resourcesOf = ({ serial, resources }: Deployed): string =>
  serial === null ? "" : `${resourcesText(resources)},`;

const whenOf = ({ at }: Deployed, now: string): Html => ago(at, now);

const byOf = ({ by }: Deployed): string => (by === null ? "" : `by ${by}`);
