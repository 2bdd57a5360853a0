/** The pages of teams, and what a person does with them. */
import { validate } from "uuid";
import { CreateInvitation, CreateTeam, UpdateMember, UpdateTeam } from "../../../protocol/teams.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import {
  createInvitation,
  invitationsLimit,
  listInvitations,
  membersLimit,
  revokeInvitation,
} from "../../services/teams/invitations.ts";
import { listMembers, removeMember, updateMember } from "../../services/teams/members.ts";
import {
  createTeam,
  deleteTeam,
  getTeam,
  listTeams,
  teamsLimit,
  updateTeam,
} from "../../services/teams/teams.ts";
import { attempt, Form } from "../page/form.ts";
import { sendPage, type Page } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";
import {
  createdInvitationPage,
  newInvitation,
  teamPage,
  teamsPage,
  type TeamForms,
} from "./team-pages.ts";

const validateTeam = validatorOf(CreateTeam);
const validateChange = validatorOf(UpdateTeam);
const validateMember = validatorOf(UpdateMember);
const validateInvitation = validatorOf(CreateInvitation);

const frame = ({ email }: UserCaller) => ({ email, at: "/teams" });

export function teamPages(pages: SignedIn, context: Context): void {
  const list = async (caller: UserCaller, form: Form): Promise<Page> => {
    const teams = await listTeams(context, caller, undefined, teamsLimit + 1);
    const shown = teams.slice(0, teamsLimit).map(({ team }) => team);
    const body = teamsPage(shown, teams.length > teamsLimit, form);
    return { ...frame(caller), title: "Teams", body };
  };
  const page = async (caller: UserCaller, forms: Partial<TeamForms> = {}): Promise<Page> => {
    const team = await getTeam(context, caller);
    const members = await listMembers(context, caller, undefined, membersLimit);
    const invitations =
      team.role === "admin"
        ? await listInvitations(context, caller, undefined, invitationsLimit)
        : null;
    const model = { team, members, invitations, user: caller.user_id };
    const body = teamPage(model, {
      rename: new Form({ name: team.name, slug: team.slug }),
      members: new Form(),
      invite: newInvitation,
      remove: new Form(),
      ...forms,
    });
    return { ...frame(caller), title: team.name, body, from: `/teams/${team.slug}` };
  };

  pages.get("/teams", "listTeams", async (caller, _, reply) => {
    sendPage(reply, await list(caller, new Form()));
  });
  pages.post("/teams", "createTeam", async (caller, { body }, reply) => {
    const form = await attempt(body, async () => {
      const { slug } = await createTeam(context, caller, validateTeam(teamOf(body)));
      reply.redirect(`/teams/${slug}`, 303);
    });
    if (form) sendPage(reply, await list(caller, form), form.status);
  });
  pages.get("/teams/:slug", "getTeam", async (caller, _, reply) => {
    sendPage(reply, await page(caller));
  });
  pages.post("/teams/:slug", "updateTeam", async (caller, { body }, reply) => {
    const rename = await attempt(body, async () => {
      const { slug } = await updateTeam(context, caller, validateChange(teamOf(body)));
      reply.redirect(`/teams/${slug}`, 303);
    });
    if (rename) sendPage(reply, await page(caller, { rename }), rename.status);
  });
  pages.post("/teams/:slug/delete", "deleteTeam", async (caller, { params, body }, reply) => {
    const remove = await attempt(body, async () => {
      if (new Form(body).word("confirm") !== slugOf(params))
        throw new RefusalError("invalid_request", "The slug that you typed is not the team's");
      await deleteTeam(context, caller);
      reply.redirect("/teams?team=", 303);
    });
    if (remove) sendPage(reply, await page(caller, { remove }), remove.status);
  });
  pages.post(
    "/teams/:slug/members/:user",
    "updateMember",
    async (caller, { params, body }, reply) => {
      const members = await attempt({}, async () => {
        const change = validateMember({ role: new Form(body).text("role") });
        await updateMember(context, caller, memberOf(params), change);
        reply.redirect(`/teams/${slugOf(params)}#members`, 303);
      });
      if (members) sendPage(reply, await page(caller, { members }), members.status);
    },
  );
  pages.post(
    "/teams/:slug/members/:user/remove",
    "removeMember",
    async (caller, { params }, reply) => {
      const user = memberOf(params);
      const members = await attempt({}, async () => {
        await removeMember(context, caller, user);
        const isSelf = user === caller.user_id;
        reply.redirect(isSelf ? "/teams?team=" : `/teams/${slugOf(params)}#members`, 303);
      });
      if (members) sendPage(reply, await page(caller, { members }), members.status);
    },
  );
  pages.post("/teams/:slug/invitations", "createInvitation", async (caller, { body }, reply) => {
    const invite = await attempt(body, async () => {
      const form = new Form(body);
      const email = form.word("email");
      const asked = { role: form.text("role"), ...(email === "" ? {} : { email }) };
      const made = await createInvitation(context, caller, validateInvitation(asked));
      const team = await getTeam(context, caller);
      const title = `An invitation to ${team.name}`;
      const hasProvider = Object.values(context.providers).some(Boolean);
      sendPage(reply, {
        ...frame(caller),
        title,
        body: createdInvitationPage(team, made, hasProvider),
      });
    });
    if (invite) sendPage(reply, await page(caller, { invite }), invite.status);
  });
  pages.post(
    "/teams/:slug/invitations/:id/revoke",
    "revokeInvitation",
    async (caller, { params }, reply) => {
      const { id } = params as { id: string };
      if (!validate(id)) throw notFound("open invitation");
      await revokeInvitation(context, caller, id);
      reply.redirect(`/teams/${slugOf(params)}#invitations`, 303);
    },
  );
}

/** The fields of a team; an empty slug is none. */
function teamOf(fields: unknown): unknown {
  const form = new Form(fields);
  const slug = form.word("slug");
  return { name: form.word("name"), ...(slug === "" ? {} : { slug }) };
}

const slugOf = (params: unknown): string => (params as { slug: string }).slug;

function memberOf(params: unknown): string {
  const { user } = params as { user: string };
  if (!validate(user)) throw notFound("member");
  return user.toLowerCase();
}
