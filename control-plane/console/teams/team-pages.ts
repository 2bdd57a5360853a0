import { hasNoRole } from "../../../protocol/role-names.ts";
import { roles, type Role } from "../../../protocol/roles.ts";
import type { CreatedInvitation, Invitation, Member, Team } from "../../../protocol/teams.ts";
import type { ZoneName } from "../../services/zones/zones.ts";
import { ask, columns, line, trouble } from "../page/fields.ts";
import type { Form, FormsOf } from "../page/form.ts";
import { empty } from "../page/empty.ts";
import { html, type Html } from "../page/html.ts";
import { copyButton, copyScript } from "../page/secret.ts";
import { row } from "../page/rare.ts";
import { table } from "../page/table.ts";
import { clock } from "../page/words.ts";
import { groupsSection, isByGroup, sourcesOf, type GroupsViewModel } from "./groups-section.ts";
import { roleFields, rolesWords } from "./zone-role-fields.ts";

/** `more`: there are more teams than are shown. */
export const teamsPage = (teams: readonly Team[], more: boolean, form: Form): Html =>
  html`<h1>Teams</h1>
    <p class="soft">
      The members of a team share its zones, workers and everything else, each with a role. What is
      in your personal space stays yours.
    </p>
    ${
      teams.length === 0
        ? empty({
            icon: "users",
            title: "You are in no team yet",
            text: "Create one here, or ask an admin of a team for an invitation.",
          })
        : table(
            "Teams",
            ["Name", "Slug", "Your role", "Created"],
            teams.map(({ slug, name, role, created_at }) => [
              html`<a href="/teams/${slug}">${name}</a>`,
              html`<code>${slug}</code>`,
              role ?? "in some zones",
              clock(created_at),
            ]),
          )
    }
    ${more ? html`<p class="soft">There are more: <code>windlass teams list</code></p>` : null}
    <section aria-labelledby="create">
      <h2 id="create">New team</h2>
      <form method="post" action="/teams" class="form">
        ${trouble(form, ["name", "slug"])}
        ${columns(
          line(form, { name: "name", label: "Name", placeholder: "Platform", required: true }),
          line(form, {
            name: "slug",
            label: "Slug",
            placeholder: "platform",
            hint: "For addresses and the client. Without one, the name decides.",
          }),
        )}
        <p><button>Create the team</button></p>
      </form>
    </section>`;

export interface TeamViewModel {
  readonly team: Team;
  readonly members: readonly Member[];
  /** Null: the reader may not see them. */
  readonly invitations: readonly Invitation[] | null;
  /** Null: the reader may not see them. */
  readonly groups: GroupsViewModel | null;
  readonly user: string;
  /** Those that the reader sees, for the names of roles in zones. */
  readonly zones: readonly ZoneName[];
}

export const teamPage = (
  { team, members, invitations, groups, user, zones }: TeamViewModel,
  forms: FormsOf,
): Html => {
  const path = `/teams/${team.slug}`;
  const hasGroups = members.some(({ sources }) => sources?.includes("group"));
  return html`<nav class="trail" aria-label="Above"><a href="/teams">Teams</a></nav>
    <h1>${team.name}</h1>
    <p>
      Your role is <strong>${rolesWords(team, zones)}</strong>.
      <a href="/zones?team=${team.slug}">Show its zones</a>
    </p>
    <section aria-labelledby="members">
      <h2 id="members">Members</h2>
      ${trouble(forms("members"))}
      ${table(
        "Members with their roles",
        ["Member", "Role", ...(hasGroups ? ["By"] : []), "Joined", "Remove"],
        members.map((member) => [
          member.user_id === user ? html`${member.email} (you)` : member.email,
          team.role === "admin" && !isByGroup(member)
            ? roleForm(path, member, zones)
            : rolesWords(member, zones),
          ...(hasGroups ? [sourcesOf(member)] : []),
          clock(member.joined_at),
          isByGroup(member) ? "" : removal(path, member, user, team.role),
        ]),
      )}
      ${
        team.role === "admin" && [...members, ...(groups?.groups ?? [])].some(hasNoRole)
          ? html`<p class="notice flow">
              Members and groups without a role had roles only in zones that were deleted or moved.
              They see nothing of the team: give them a role, or remove them.
            </p>`
          : null
      }
      ${team.role === null ? html`<p class="soft">The other members are shown to those with a role in the team.</p>` : null}
      <p class="soft">
        A viewer reads. A planner also plans. A deployer also deploys, approves and changes
        configurations. An admin also manages workers and members, and deletes. In a zone the higher
        one of a member's two roles counts; someone without a role in the team sees only the zones
        with one.
      </p>
    </section>
    ${groups === null ? null : groupsSection(path, groups, zones, forms("groups", { role: "deployer" }))}
    ${invitations === null ? null : invitationsSection(path, invitations, zones, forms("invite", { role: "deployer" }))}
    ${team.role === "admin" ? settings(path, team, forms("rename", { name: team.name, slug: team.slug }), forms("remove")) : null}`;
};

const selected = (isSelected: boolean): Html | null => (isSelected ? html`selected` : null);

const roleForm = (path: string, member: Member, zones: readonly ZoneName[]): Html => {
  const { user_id, email, role } = member;
  const action = `${path}/members/${user_id}`;
  const hasZones = Object.keys(member.zones).length > 0;
  return html`<form method="post" action="${action}" class="inline">
      <select name="role" aria-label="Role of ${email}">
        ${roles.map((one) => html`<option value="${one}" ${selected(one === role)}>${one}</option>`)}
        ${hasZones || role === null ? html`<option value="" ${selected(role === null)}>${hasZones ? "zones only" : "no role"}</option>` : null}
      </select>
      <button class="quiet" aria-label="Change the role of ${email}">Change</button>
    </form>
    ${hasZones ? html`<p class="soft small">${rolesWords({ role: null, zones: member.zones }, zones)}</p>` : null}
    ${
      zones.length === 0
        ? null
        : html`<div class="zone-role">
            ${ask(
              "Role in a zone…",
              html`<form method="post" action="${action}/zones" class="inline">
                <select name="zone" aria-label="Zone in which ${email} gets another role">
                  ${zones.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
                </select>
                <select name="role" aria-label="Role of ${email} in that zone">
                  ${roles.map((one) => html`<option value="${one}">${one}</option>`)}
                  <option value="">no other role</option>
                </select>
                <button class="quiet">Set</button>
              </form>`,
            )}
          </div>`
    }`;
};

function removal(
  path: string,
  { user_id, email }: Member,
  user: string,
  role: Role | null,
): Html | string {
  const isSelf = user_id === user;
  if (!isSelf && role !== "admin") return "";
  const words = isSelf ? "Leave the team" : `Remove ${email}`;
  return ask(
    isSelf ? "Leave…" : "Remove…",
    html`<p>
        ${isSelf ? "Your" : "Their"} access ends at once, and so do the access tokens that
        ${isSelf ? "you" : "they"} created here. Jobs stay.
      </p>
      <form method="post" action="${path}/members/${user_id}/remove">
        <button class="danger">${words}</button>
      </form>`,
  );
}

const invitationsSection = (
  path: string,
  invitations: readonly Invitation[],
  zones: readonly ZoneName[],
  form: Form,
): Html =>
  html`<section aria-labelledby="invitations">
    <h2 id="invitations">Invitations</h2>
    ${
      invitations.length === 0
        ? html`<p class="soft">No open invitation.</p>`
        : table(
            "Open invitations",
            ["For", "Role", "Invited by", "Expires", "Revoke"],
            invitations.map(({ id, email, created_by, expires_at, ...given }) => [
              email ?? "anyone with the link",
              rolesWords(given, zones),
              created_by,
              clock(expires_at),
              html`<form method="post" action="${path}/invitations/${id}/revoke">
                <button class="quiet" aria-label="Revoke the invitation for ${email ?? "anyone"}">
                  Revoke
                </button>
              </form>`,
            ]),
          )
    }
    <h3>Invite someone</h3>
    <form method="post" action="${path}/invitations" class="form">
      ${trouble(form, ["role", "zone", "zone_role", "email"])}
      ${columns(
        ...roleFields(form, zones),
        line(form, {
          name: "email",
          label: "E-mail address",
          placeholder: "grace@example.com",
          hint: "Only an account with this address may join. Without it: anyone who has the link.",
        }),
      )}
      <p><button>Create the invitation</button></p>
    </form>
  </section>`;

const settings = (path: string, { name, slug }: Team, rename: Form, remove: Form): Html =>
  html`<div class="rare">
    ${row(
      { id: "rename", title: "Rename" },
      "Addresses and pipelines that use the old slug stop working.",
      html`<form method="post" action="${path}" class="form">
        ${trouble(rename, ["name", "slug"])}
        ${columns(
          line(rename, { name: "name", label: "Name", required: true }),
          line(rename, { name: "slug", label: "Slug", required: true }),
        )}
        <button class="quiet">Save</button>
      </form>`,
    )}
    ${row(
      { id: "delete", title: "Delete" },
      "A team can be deleted when it has no zones, workers and unfinished jobs. Its members, invitations and access tokens are deleted with it.",
      html`${trouble(remove)}
      ${ask(
        "Delete this team…",
        html`<form method="post" action="${path}/delete">
          ${line(remove, {
            name: "confirm",
            label: "To confirm, type the slug of the team",
            hint: html`<code>${slug}</code>`,
          })}
          <button class="danger">Delete ${name}</button>
        </form>`,
        remove.refusal !== undefined,
      )}`,
    )}
  </div>`;

/** The link is shown only this once. `hasProvider`: users can sign in without the operator. */
export const createdInvitationPage = (
  team: Team,
  { link, email, expires_at, ...given }: CreatedInvitation,
  zones: readonly ZoneName[],
  hasProvider: boolean,
): Html =>
  html`<nav class="trail" aria-label="Above">
      <a href="/teams">Teams</a> / <a href="/teams/${team.slug}">${team.name}</a>
    </nav>
    <h1>An invitation to ${team.name}</h1>
    <p>
      Send this link to ${email ?? "the person whom you invite"}. It works once, expires
      ${clock(expires_at)}, gives the role ${rolesWords(given, zones)}, and is shown only now.
    </p>
    <p class="secret"><code id="link">${link}</code></p>
    ${copyButton("link", "Copy the link")}
    ${
      hasProvider
        ? null
        : html`<section class="notice flow">
            <p>
              This server has no sign-in provider. Someone who is not signed in here also needs a
              login link, which works for 15 minutes: the operator of the server makes it, when the
              person is ready to open it.
            </p>
            <p><code>windlass server login-link --email ${email ?? "grace@example.com"}</code></p>
            <p>
              Send both links. The person opens this invitation, then the login link in the same
              browser, and comes back to the invitation.
            </p>
          </section>`
    }
    <p><a href="/teams/${team.slug}#invitations">To the team</a></p>
    ${copyScript}`;
