import type { Schedule } from "../../../protocol/schedules.ts";
import { failedApply, isChanging } from "../../../protocol/words.ts";
import type { BareZone, ConfigurationSummary, ZoneSummary } from "../../services/zones/zones.ts";
import type { Runs } from "../../services/jobs/runs.ts";
import { runStrip } from "../jobs/run-strip.ts";
import type { Space } from "../../services/callers.ts";
import { choice, trouble } from "../page/fields.ts";
import type { Form, FormsOf } from "../page/form.ts";
import { olderLink, type ListPage } from "../page/list.ts";
import { nameField, renameSection } from "../page/name-forms.ts";
import { shellWord } from "../../../common/shell-word.ts";
import { empty } from "../page/empty.ts";
import { html, type Html } from "../page/html.ts";
import { deployedInShort } from "../configurations/deployed-view.ts";
import { driftedBadge } from "../configurations/drift-view.ts";
import { lastFailed, standingBadge } from "../configurations/failed-view.ts";
import { sourceInWords } from "../configurations/source-view.ts";
import { deleteSection, row } from "../page/rare.ts";
import { table } from "../page/table.ts";
import { badge, clock, statusWord } from "../page/words.ts";
import { schedulesSection } from "../schedules/schedules-page.ts";
import { attachedSets, type SetsViewModel } from "../variable-sets/attached-view.ts";

export const zonesPage = ({ items: zones, next }: ListPage<ZoneSummary>, form: Form): Html =>
  html`<h1>Zones</h1>
    <p class="soft">
      A zone groups configurations, for example all of production. A configuration says which
      terraform files run, and with which values.
    </p>
    <div id="zones" data-live>
      ${
        zones.length === 0
          ? empty({
              icon: "layers",
              title: "No zone yet",
              text: "Create the first one here, then add configurations to it; or run this in a directory of Terraform files, which makes both:",
              command: "windlass up",
            })
          : table(
              "Zones",
              ["Name", "Configurations", "Status", "Created"],
              zones.map(({ id, name, statuses, created_at }) => [
                html`<a href="/zones/${id}">${name}</a>`,
                String(totalOf(statuses)),
                badges(statuses),
                clock(created_at),
              ]),
            )
      }
    </div>
    ${olderLink("/zones", next, "zones")}
    <section aria-labelledby="create">
      <h2 id="create">New zone</h2>
      <form method="post" action="/zones" class="form row">
        ${trouble(form, ["name"])} ${nameField(form)} <button>Create the zone</button>
      </form>
    </section>`;

const totalOf = (statuses: ZoneSummary["statuses"]): number =>
  statuses.reduce((sum, { count: some }) => sum + some, 0);

/** `2 DEPLOYED`. Unresolved failures count together, whatever their status. */
function badges(statuses: ZoneSummary["statuses"]): Html {
  const counts = statuses.map(({ status, count: all, failed, warned }) => {
    const isBusy = isChanging(status);
    const bad = status === "FAILED" ? all : isBusy ? 0 : failed;
    return { status, all, bad, warned: status === "FAILED" || isBusy ? 0 : warned };
  });
  const bad = counts.reduce((sum, one) => sum + one.bad, 0);
  const drifted = statuses.reduce((sum, one) => sum + one.drifted, 0);
  const warnings = counts.reduce((sum, one) => sum + one.warned, 0);
  return html`<span class="badges">
    ${counts.map((one) =>
      one.all > one.bad + one.warned
        ? badge(
            one.status,
            `${one.all - one.bad - one.warned} ${statusWord(one.status).toLowerCase()}`,
          )
        : null,
    )}
    ${warnings > 0 ? badge("WARNING", `${warnings} with failed checks`) : null}
    ${drifted > 0 ? badge("WARNING", `${drifted} drifted`) : null}
    ${bad > 0 ? badge("FAILED", `${bad} did not succeed`) : null}
  </span>`;
}

export interface ZoneViewModel {
  readonly zone: BareZone;
  readonly configurations: ListPage<ConfigurationSummary>;
  readonly runs: Runs;
  readonly sets: SetsViewModel;
  readonly schedules: readonly Schedule[];
  /** The other spaces of which the reader is an admin. */
  readonly spaces: readonly Space[];
  readonly now: string;
}

export const zonePage = (
  {
    zone,
    configurations: { items: configurations, next },
    runs,
    sets,
    schedules,
    spaces,
    now,
  }: ZoneViewModel,
  forms: FormsOf,
): Html =>
  html`<nav class="trail" aria-label="Above"><a href="/zones">Zones</a></nav>
    <div class="page-head">
      <h1>${zone.name}</h1>
      <a class="button" href="/zones/${zone.id}/new">New configuration</a>
    </div>
    <div id="configurations" data-live>
      ${
        configurations.length === 0
          ? empty({
              icon: "layers",
              title: "No configuration in this zone yet",
              text: "A configuration says where Terraform files come from and with which values they run. Create one here, or with this command in a directory of Terraform files:",
              command: `windlass up --zone ${shellWord(zone.name)}`,
            })
          : configurationTable(configurations, runs, now)
      }
    </div>
    ${olderLink(`/zones/${zone.id}`, next, "configurations")}
    ${attachedSets(`/zones/${zone.id}`, sets, forms("sets"))}
    <div id="schedules" data-live>${schedulesSection(schedules, `zone:${zone.id}`, now)}</div>
    <div class="rare">
      ${renameSection(`/zones/${zone.id}`, zone.name, forms("rename", { name: zone.name }))}
      ${spaces.length === 0 ? null : moveSection(zone, spaces, forms("move"))}
      ${deleteSection(`/zones/${zone.id}`, "zone", forms("remove"), {
        text: "Its jobs and their logs stay, without a zone.",
        obstacle:
          configurations.length > 0
            ? "Possible when it has no configurations. Delete them, or move them to another zone, on their pages."
            : null,
      })}
    </div>`;

const moveSection = ({ id }: BareZone, spaces: readonly Space[], form: Form): Html =>
  row(
    { id: "move", title: "Move to another space" },
    "Its configurations, jobs and states move with it. Workers, cloud identities and variable sets stay: its jobs then run on the workers of the other space.",
    html`<form method="post" action="/zones/${id}/team" class="form row">
      ${trouble(form)}
      ${choice(
        form,
        { name: "team", label: "Space" },
        spaces.map(({ slug }) => [slug ?? "", slug ?? "Personal"]),
      )}
      <button class="quiet">Move the zone</button>
    </form>`,
  );

const configurationTable = (
  specs: readonly ConfigurationSummary[],
  runs: Runs,
  now: string,
): Html => {
  const wentWrong = specs.some((one) => one.error_message !== null || failedApply(one) !== null);
  const heads = ["Name", "Status", "Last runs", "Deployed", "Source", "Changed"];
  return table(
    "Configurations",
    [...heads, ...(wentWrong ? ["What went wrong"] : [])],
    specs.map((one) => [
      html`<a href="/configurations/${one.id}">${one.name}</a>`,
      html`<span class="badges"
        >${standingBadge(one)} ${one.isDrifted ? driftedBadge : null}</span
      >`,
      runStrip(one.id, runs.get(one.id) ?? [], now),
      deployedInShort(one.deployed, now),
      html`<span class="clamp">${sourceInWords(one.source)}</span>`,
      clock(one.updated_at),
      ...(wentWrong ? [whatWentWrong(one, now)] : []),
    ]),
  );
};

function whatWentWrong(one: ConfigurationSummary, now: string): Html {
  const failed = failedApply(one);
  const message = one.error_message ?? failed?.error_message ?? "";
  return html`${failed === null ? null : lastFailed(failed, now)}
    <span class="clamp">${message}</span>`;
}
