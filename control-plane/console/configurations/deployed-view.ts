import type { Deployed } from "../../../protocol/deployed.ts";
import { resourcesText } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { ago } from "../page/words.ts";

/** Resources, when and by whom. */
export const deployedInShort = (deployed: Deployed | null, now: string): Html | string =>
  deployed === null
    ? "–"
    : html`${resourcesOf(deployed)} ${ago(deployed.at, now)}
      ${deployed.by === null ? "" : `by ${deployed.by}`}`;

/** The server knows only the time if it does not keep the state. */
const resourcesOf = ({ serial, resources }: Deployed): string =>
  serial === null ? "" : `${resourcesText(resources)},`;
