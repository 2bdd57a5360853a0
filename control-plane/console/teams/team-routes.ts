import { RefusalError } from "../../domain/refusal.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import {
  createInvitation,
  invitationsLimit,
  listInvitations,
  revokeInvitation,
} from "../../services/teams/invitations.ts";
import { listMembers, removeMember, updateMember } from "../../services/teams/members.ts";
import { membersLimit } from "../../services/teams/membership.ts";
import {
  createTeam,
  deleteTeam,
  getTeam,
  listTeams,
  teamsLimit,
  updateTeam,
} from "../../services/teams/teams.ts";
import { listTeamGroups, replaceTeamGroups } from "../../services/teams/groups.ts";
import { oidcNames, titleOf } from "../../domain/providers.ts";
import type { ReplaceTeamGroups, Team, TeamGroups } from "../../../protocol/teams.ts";
import { withGroup, withoutGroup, type GroupsViewModel } from "./groups-section.ts";
import { listZoneNames } from "../../services/zones/zones.ts";
import type { ZoneRoles } from "../../../protocol/roles.ts";
import type { Form } from "../page/form.ts";
import { idIn } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { createdInvitationPage, teamPage, teamsPage } from "./team-pages.ts";
import { rolesOf, zonesOffered } from "./zone-role-fields.ts";

const frame = { at: "/teams" };

export function teamPages(pages: SignedIn, context: Context): void {
  const zoneNames = (caller: UserCaller) => listZoneNames(context, caller, zonesOffered);
  pages
    .page("/teams", "listTeams", {
      draw: async (_, { caller, forms }) => {
        const teams = await listTeams(context, caller, undefined, teamsLimit + 1);
        const shown = teams.slice(0, teamsLimit).map(({ team }) => team);
        const body = teamsPage(shown, teams.length > teamsLimit, forms("create"));
        return { ...frame, title: "Teams", body };
      },
    })
    .form("create", "createTeam", {
      input: fieldsIn,
      submit: async ({ caller, input }) =>
        `/teams/${(await createTeam(context, caller, input())).slug}`,
    });

  const groupsView = async (caller: UserCaller): Promise<GroupsViewModel> => ({
    ...(await listTeamGroups(context, caller)),
    providers: oidcNames.flatMap((name) => {
      const settings = context.providers[name];
      if (settings?.baseUrl === undefined) return [];
      return [{ issuer: settings.baseUrl, title: titleOf(name, settings) }];
    }),
  });
  const saveGroups = async (sent: {
    readonly caller: UserCaller;
    readonly thing: Team;
    readonly input: (now: TeamGroups) => ReplaceTeamGroups;
  }): Promise<string> => {
    const { caller, thing, input } = sent;
    await replaceTeamGroups(context, caller, input);
    return `/teams/${thing.slug}#groups`;
  };
  pages
    .page("/teams/:slug", "getTeam", {
      find: (caller: UserCaller) => getTeam(context, caller),
      draw: async (team, { caller, forms }) => {
        const all = await listMembers(context, caller, undefined, membersLimit);
        // The other members belong to the whole team.
        const members = all.filter((one) => team.role !== null || one.user_id === caller.user_id);
        const zones = await zoneNames(caller);
        const invitations =
          team.role === "admin"
            ? await listInvitations(context, caller, undefined, invitationsLimit)
            : null;
        const groups = team.role === "admin" ? await groupsView(caller) : null;
        const view = { team, members, invitations, groups, user: caller.user_id, zones };
        const body = teamPage(view, forms);
        return { ...frame, title: team.name, body };
      },
    })
    .form("rename", "updateTeam", {
      input: fieldsIn,
      submit: async ({ caller, input }) =>
        `/teams/${(await updateTeam(context, caller, input())).slug}`,
    })
    .form("remove", "deleteTeam", {
      path: "/delete",
      submit: async ({ caller, thing: { slug }, form }) => {
        if (form.word("confirm") !== slug)
          throw new RefusalError("invalid_request", "The slug that you typed is not the team's");
        await deleteTeam(context, caller);
        return "/teams?team=";
      },
    })
    .form("members", "updateMember", {
      path: "/members/:user",
      input: (form) => ({ role: form.text("role") || null }),
      submit: async ({ caller, thing: { slug }, params, input }) => {
        await updateMember(context, caller, idIn(params, "member", "user"), input());
        return `/teams/${slug}#members`;
      },
    })
    .form("members", "updateMember", {
      path: "/members/:user/zones",
      // Only one of the roles in zones changes.
      input: (form) => ({ zones: { [form.text("zone")]: form.text("role") || "viewer" } }),
      submit: async ({ caller, thing: { slug }, params, input, form }) => {
        const user = idIn(params, "member", "user");
        const given = input().zones ?? {};
        await updateMember(context, caller, user, ({ zones }) => ({
          zones:
            form.text("role") === "" ? without(zones, Object.keys(given)) : { ...zones, ...given },
        }));
        return `/teams/${slug}#members`;
      },
    })
    .form("members", "removeMember", {
      path: "/members/:user/remove",
      submit: async ({ caller, thing: { slug }, params }) => {
        const user = idIn(params, "member", "user");
        await removeMember(context, caller, user);
        return user === caller.user_id ? "/teams?team=" : `/teams/${slug}#members`;
      },
    })
    .form("groups", "replaceTeamGroups", {
      path: "/groups",
      input: (form, { groups }: TeamGroups) => ({ groups: withGroup(groups, form) }),
      submit: saveGroups,
    })
    .form("groups", "replaceTeamGroups", {
      path: "/groups/remove",
      input: (form, { groups }: TeamGroups) => ({ groups: withoutGroup(groups, form) }),
      submit: saveGroups,
    })
    .form("invite", "createInvitation", {
      path: "/invitations",
      input: (form) => ({ ...rolesOf(form), email: form.word("email") || null }),
      submit: async ({ caller, thing: team, input }) => {
        const made = await createInvitation(context, caller, input());
        const hasProvider = Object.values(context.providers).some(Boolean);
        const body = createdInvitationPage(team, made, await zoneNames(caller), hasProvider);
        return { ...frame, title: `An invitation to ${team.name}`, body };
      },
    });
  pages.post(
    "/teams/:slug/invitations/:id/revoke",
    "revokeInvitation",
    async (caller, { params }) => {
      await revokeInvitation(context, caller, idIn(params, "open invitation"));
      return `/teams/${(params as { slug: string }).slug}#invitations`;
    },
  );
}

const without = (zones: ZoneRoles, ids: readonly string[]): ZoneRoles =>
  Object.fromEntries(Object.entries(zones).filter(([id]) => !ids.includes(id)));

/** An empty slug is none. */
function fieldsIn(form: Form): unknown {
  const slug = form.word("slug");
  return { name: form.word("name"), ...(slug === "" ? {} : { slug }) };
}
