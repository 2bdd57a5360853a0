/** A tile for each configuration, by zone: its status, last runs, resources and last change. */
import { failedChecksWords, isChanging, resourcesText } from "../../../protocol/words.ts";
import type { Tile } from "../../services/configurations/tiles.ts";
import type { Runs } from "../../services/jobs/runs.ts";
import { driftedBadge } from "../configurations/drift-view.ts";
import { wideStrip } from "../jobs/run-strip.ts";
import { html, type Html } from "../page/html.ts";
import { ago, badge } from "../page/words.ts";

export interface Fleet {
  readonly tiles: readonly Tile[];
  readonly hasMore: boolean;
  readonly runs: Runs;
}

/** Runs of a strip. */
export const stripRuns = 20;
export const tilesLimit = 48;

export const fleetView = ({ tiles, hasMore, runs }: Fleet, now: string): Html =>
  html`${[...Map.groupBy(tiles, ({ zone }) => zone)].map(
    ([zone, ofZone]) =>
      html`<h2>${zone} <span class="number">${ofZone.length}</span></h2>
        <ul class="fleet">
          ${ofZone.map((tile) => tileView(tile, runs, now))}
        </ul>`,
  )}
  ${
    hasMore
      ? html`<p class="soft">
          The ${tilesLimit} configurations that ran last.
          <a href="/zones">All are in their zones</a>.
        </p>`
      : null
  }`;

const tileView = (tile: Tile, runs: Runs, now: string): Html => {
  const { id, name, isFailed, isDrifted, status, failed_checks, changed } = tile;
  const [warning] = failedChecksWords({ failed_checks });
  return html`<li class="tile ${isFailed ? "bad" : ""}">
    <p>
      <a class="whole" href="/configurations/${id}">${name}</a>
      ${
        isFailed
          ? badge("FAILED")
          : isChanging(status)
            ? badge(status)
            : isDrifted
              ? driftedBadge
              : warning
                ? badge("WARNING", warning)
                : badge(status)
      }
    </p>
    ${wideStrip(runs.get(id) ?? [], stripRuns, now)}
    <p class="soft">
      <span>${deployedText(tile)}</span>
      ${changed === null ? null : html`<span title="${changed.by}">${changedText(changed, now)}</span>`}
    </p>
  </li>`;
};

const deployedText = ({ status, resources, changed }: Tile): string => {
  if (resources !== null) return resourcesText(resources);
  return changed === null || status === "DESTROYED" ? "Nothing deployed" : "Resources not known";
};

const changedText = ({ at, job }: NonNullable<Tile["changed"]>, now: string): Html =>
  job === null ? ago(at, now) : html`<a href="/jobs/${job}">${ago(at, now)}</a>`;
