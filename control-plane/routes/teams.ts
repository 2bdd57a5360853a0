/** Teams, their members and invitations. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { sendList, sendListOf, withId } from "../http/list.ts";
import { bodilessRoutes, route, type Guards } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import { writeWhole } from "../services/json-text.ts";
import {
  createInvitation,
  listInvitations,
  revokeInvitation,
} from "../services/teams/invitations.ts";
import { listMembers, removeMember, updateMember } from "../services/teams/members.ts";
import { createTeam, deleteTeam, getTeam, listTeams, updateTeam } from "../services/teams/teams.ts";

export function teamRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listTeams, guards, async ({ caller, query, reply }) =>
    sendListOf(reply, "teams", withId(query), {
      read: (before, limit) => listTeams(context, caller, before, limit),
      cursorOf: ({ id }) => id,
      write: ({ team }) => writeWhole(team),
    }),
  );
  route(app, endpoints.createTeam, guards, async ({ caller, body }) =>
    createTeam(context, caller, body),
  );
  route(app, endpoints.getTeam, guards, async ({ caller }) => getTeam(context, caller));
  route(app, endpoints.updateTeam, guards, async ({ caller, body }) =>
    updateTeam(context, caller, body),
  );
  route(app, endpoints.listMembers, guards, async ({ caller, query, reply }) =>
    sendListOf(reply, "members", withId(query), {
      read: (before, limit) => listMembers(context, caller, before, limit),
      cursorOf: ({ user_id }) => user_id,
      write: writeWhole,
    }),
  );
  route(app, endpoints.updateMember, guards, async ({ caller, params, body }) =>
    updateMember(context, caller, params.user_id, body),
  );
  route(app, endpoints.createInvitation, guards, async ({ caller, body }) =>
    createInvitation(context, caller, body),
  );
  route(app, endpoints.listInvitations, guards, async ({ caller, query, reply }) =>
    sendList(reply, "invitations", query, (before, limit) =>
      listInvitations(context, caller, before, limit),
    ),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.deleteTeam, guards, async ({ caller }) => {
      await deleteTeam(context, caller);
      return undefined;
    });
    route(bodiless, endpoints.removeMember, guards, async ({ caller, params }) => {
      await removeMember(context, caller, params.user_id);
      return undefined;
    });
    route(bodiless, endpoints.revokeInvitation, guards, async ({ caller, params }) => {
      await revokeInvitation(context, caller, params.id);
      return undefined;
    });
  });
}
