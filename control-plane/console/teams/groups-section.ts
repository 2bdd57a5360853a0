/** The part of a team's page about groups of sign-in providers. */
import type { Member, TeamGroup } from "../../../protocol/teams.ts";
import { ask, choice, columns, line, trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import type { ZoneName } from "../../services/zones/zones.ts";
import { roleFields, rolesOf, rolesWords } from "./zone-role-fields.ts";

/** Who can be admitted by group: an OpenID Connect provider of this server. */
export interface GroupProvider {
  readonly issuer: string;
  readonly title: string;
}

export interface GroupsViewModel {
  readonly groups: readonly TeamGroup[];
  readonly providers: readonly GroupProvider[];
}

/** Nothing on a server without such a provider, unless groups are left. */
export const groupsSection = (
  path: string,
  { groups, providers }: GroupsViewModel,
  zones: readonly ZoneName[],
  form: Form,
): Html | null =>
  groups.length === 0 && providers.length === 0
    ? null
    : html`<section aria-labelledby="groups">
        <h2 id="groups">Groups</h2>
        <p class="soft">
          People in these groups of a sign-in provider are members. Their role is the highest that
          their groups and an invitation give, and what a group gives ends with it.
        </p>
        ${
          groups.length === 0
            ? html`<p class="soft">No group.</p>`
            : table(
                "Groups with the role of their people",
                ["Group", "Role", "Provider", "Remove"],
                groups.map((one) => [
                  html`<code>${one.group}</code>`,
                  rolesWords(one, zones),
                  titleOf(providers, one.issuer),
                  removal(path, one),
                ]),
              )
        }
        ${providers.length === 0 ? trouble(form) : addition(path, providers, zones, form)}
      </section>`;

const titleOf = (providers: readonly GroupProvider[], issuer: string): string =>
  providers.find((one) => one.issuer === issuer)?.title ?? issuer;

const removal = (path: string, { issuer, group }: TeamGroup): Html =>
  ask(
    "Remove…",
    html`<p>Members who have nothing else leave the team at once. Jobs stay.</p>
      <form method="post" action="${path}/groups/remove">
        <input type="hidden" name="issuer" value="${issuer}" />
        <input type="hidden" name="group" value="${group}" />
        <button class="danger">Remove ${group}</button>
      </form>`,
  );

const addition = (
  path: string,
  providers: readonly GroupProvider[],
  zones: readonly ZoneName[],
  form: Form,
): Html =>
  html`<h3>Add a group, or change its role</h3>
    <form method="post" action="${path}/groups" class="form">
      ${trouble(form)}
      ${columns(
        line(form, {
          name: "group",
          label: "Group",
          placeholder: "/platform/engineers",
          hint: "To the letter as the provider writes it; with Entra the object id.",
          required: true,
        }),
        ...roleFields(form, zones),
        providers.length === 1
          ? html`<input type="hidden" name="issuer" value="${providers[0]!.issuer}" />`
          : choice(
              form,
              { name: "issuer", label: "Provider" },
              providers.map(({ issuer, title }) => [issuer, title]),
            ),
      )}
      <p><button>Save the group</button></p>
    </form>`;

/** What makes someone a member, where it is not only an invitation. */
export const sourcesOf = ({ sources = [], groups = [] }: Member): Html =>
  html`${sources.includes("invited") ? "invitation" : null}${groups.map(
    (group, index) =>
      html`${index > 0 || sources.includes("invited") ? ", " : null}group <code>${group}</code>`,
  )}`;

/** Whether only groups make someone a member, so that the page can change nothing. */
export const isByGroup = ({ sources }: Member): boolean =>
  sources !== undefined && !sources.includes("invited");

/** The list with a group of a form added or changed. */
export const withGroup = (groups: readonly TeamGroup[], form: Form) => [
  ...withoutGroup(groups, form),
  { issuer: form.word("issuer"), group: form.text("group"), ...rolesOf(form) },
];

export const withoutGroup = (groups: readonly TeamGroup[], form: Form): TeamGroup[] =>
  groups.filter((one) => one.issuer !== form.word("issuer") || one.group !== form.text("group"));
