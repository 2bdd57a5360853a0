import { list, listWithIds } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import { writeWhole } from "../services/json-text.ts";
import {
  createInvitation,
  listInvitations,
  revokeInvitation,
} from "../services/teams/invitations.ts";
import { listTeamGroups, replaceTeamGroups } from "../services/teams/groups.ts";
import { listMembers, removeMember, updateMember } from "../services/teams/members.ts";
import { createTeam, deleteTeam, getTeam, listTeams, updateTeam } from "../services/teams/teams.ts";

export const teamRoutes = (context: Context) =>
  ({
    listTeams: async ({ caller }) =>
      listWithIds({
        read: (before, limit) => listTeams(context, caller, before, limit),
        cursorOf: ({ id }) => id,
        write: ({ team }) => writeWhole(team),
      }),
    createTeam: ({ caller, body }) => createTeam(context, caller, body),
    getTeam: ({ caller }) => getTeam(context, caller),
    updateTeam: ({ caller, body }) => updateTeam(context, caller, body),
    deleteTeam: ({ caller }) => deleteTeam(context, caller),
    listMembers: async ({ caller }) =>
      listWithIds({
        read: (before, limit) => listMembers(context, caller, before, limit),
        cursorOf: ({ user_id }) => user_id,
        write: writeWhole,
      }),
    updateMember: ({ caller, params, body }) => updateMember(context, caller, params.user_id, body),
    removeMember: ({ caller, params }) => removeMember(context, caller, params.user_id),
    listTeamGroups: ({ caller }) => listTeamGroups(context, caller),
    replaceTeamGroups: ({ caller, body }) => replaceTeamGroups(context, caller, body),
    createInvitation: ({ caller, body }) => createInvitation(context, caller, body),
    listInvitations: async ({ caller }) =>
      list((before, limit) => listInvitations(context, caller, before, limit)),
    revokeInvitation: ({ caller, params }) => revokeInvitation(context, caller, params.id),
  }) satisfies Partial<Routes>;
