/** Teams: spaces that several people share, each of them with a role. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  about,
  Name,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  StoredName,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { groupNameLimit, invitationDays, teamGroupsLimit } from "./limits.ts";
import { SpaceRole, ZoneRoles } from "./roles.ts";

/** How a team is named in addresses, in the header `Windlass-Team` and by the client. */
export const TeamSlug = Type.String({
  minLength: 1,
  maxLength: 40,
  pattern: "^[a-z0-9-]+$",
  "x-form": "lower-case letters, digits and hyphens",
});

export const Team = Type.Object({
  slug: about(TeamSlug, "Unique on this server."),
  name: StoredName,
  role: about(SpaceRole, "The role of the caller in the whole team; null: only those of `zones`."),
  zones: ZoneRoles,
  created_at: Timestamp,
});
export type Team = Static<typeof Team>;

export const CreateTeam = Type.Object(
  {
    name: Name,
    slug: Type.Optional(about(TeamSlug, "Without it, the server makes one from the name.")),
  },
  { additionalProperties: false },
);
export type CreateTeam = Static<typeof CreateTeam>;

export const UpdateTeam = Type.Object(
  { name: Type.Optional(Name), slug: Type.Optional(TeamSlug) },
  { additionalProperties: false },
);
export type UpdateTeam = Static<typeof UpdateTeam>;

export const Member = Type.Object({
  user_id: Uuid,
  email: Type.String(),
  role: about(
    SpaceRole,
    "The highest of what an invitation and groups give; null: only those of `zones`.",
  ),
  zones: ZoneRoles,
  joined_at: Timestamp,
  sources: Type.Optional(
    about(
      Type.Array(OneOf(["invited", "group"])),
      "What makes the person a member; who created the team counts as invited.",
    ),
  ),
  groups: Type.Optional(
    about(Type.Array(Type.String()), "The groups of the team that the person is in."),
  ),
});
export type Member = Static<typeof Member>;

export const UpdateMember = Type.Object(
  {
    role: Type.Optional(SpaceRole),
    zones: Type.Optional(about(ZoneRoles, "Replaces all roles in zones.")),
  },
  { additionalProperties: false },
);
export type UpdateMember = Static<typeof UpdateMember>;

const teamGroup = {
  group: Type.String({
    minLength: 1,
    maxLength: groupNameLimit,
    pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]+$`,
    "x-form": "the name of a group, without control characters",
    description: "As the provider names it, to the letter.",
    examples: ["/platform/engineers"],
  }),
};
const providerAddress = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: "The address of an OpenID Connect provider.",
  examples: ["https://id.example.com/realms/acme"],
});

export const TeamGroup = Type.Object({
  issuer: providerAddress,
  ...teamGroup,
  role: about(SpaceRole, "What its people get in the team; null: only those of `zones`."),
  zones: ZoneRoles,
});
export type TeamGroup = Static<typeof TeamGroup>;

const groupsVersion = Type.String({ maxLength: 100, examples: ["mvC9FQyd2pBS4ZPr"] });
export const TeamGroups = Type.Object({
  groups: Type.Array(TeamGroup),
  version: Type.Optional(about(groupsVersion, "Changes with the groups.")),
});
export type TeamGroups = Static<typeof TeamGroups>;

export const ReplaceTeamGroups = Type.Object(
  {
    groups: Type.Array(
      Type.Object(
        {
          issuer: about(
            providerAddress,
            "The address of a provider that this server signs people in with, or its name in the settings: `oidc`, `oidc_2`. The address is stored.",
          ),
          ...teamGroup,
          role: Type.Optional(about(SpaceRole, "What its people get in the team.")),
          zones: Type.Optional(ZoneRoles),
        },
        { additionalProperties: false },
      ),
      { maxItems: teamGroupsLimit },
    ),
    version: Type.Optional(
      about(
        groupsVersion,
        "Of the groups that the caller has read: refused if they changed since.",
      ),
    ),
  },
  { additionalProperties: false },
);
export type ReplaceTeamGroups = Static<typeof ReplaceTeamGroups>;

export const CreateInvitation = Type.Object(
  {
    role: Type.Optional(about(SpaceRole, "The role that the new member gets; null: see `zones`.")),
    zones: Type.Optional(ZoneRoles),
    email: Type.Optional(
      Nullable(
        Type.String({
          minLength: 3,
          maxLength: 254,
          pattern: "^[^\\s@]+@[^\\s@]+$",
          "x-form": "an e-mail address",
          description:
            "Only an account with this verified address may use the link. Missing or null: anyone who has the link.",
        }),
      ),
    ),
  },
  { additionalProperties: false },
);
export type CreateInvitation = Static<typeof CreateInvitation>;

const invitation = {
  id: Uuid,
  role: SpaceRole,
  zones: ZoneRoles,
  email: about(Nullable(Type.String()), "The only address that may use it; null: any."),
  expires_at: Timestamp,
  created_by: about(Type.String(), "The e-mail address of the member who invites."),
};

export const Invitation = Type.Object(invitation);
export type Invitation = Static<typeof Invitation>;

export const CreatedInvitation = Type.Object({
  ...invitation,
  link: about(
    Type.String(),
    "The page on which the invited person joins. It is returned once and stored as a hash.",
  ),
});
export type CreatedInvitation = Static<typeof CreatedInvitation>;

const slug = about(TeamSlug, "The team.");
const teamParams = { slug };
const memberParams = { slug, user_id: about(Uuid, "The member.") };

export const teamEndpoints = {
  listTeams: endpoint("GET /api/cli/teams", {
    summary: "List the caller's teams, newest first, with the caller's role in each",
    permission: "read",
    inZones: true,
    query: Paging,
    answer: Type.Object({ teams: Type.Array(Team), next_cursor: NextCursor }),
  }),
  createTeam: endpoint("POST /api/cli/teams", {
    summary: "Create a team, of which the caller becomes an admin",
    description:
      "The setting `WINDLASS_TEAM_CREATORS` may limit who can do this. The first user of the server always can.",
    permission: "account",
    body: CreateTeam,
    status: 201,
    answer: Team,
    refusals: ["name_taken", "quota_exceeded"],
  }),
  getTeam: endpoint("GET /api/cli/teams/{slug}", {
    summary: "Read a team",
    permission: "read",
    inZones: true,
    params: teamParams,
    answer: Team,
  }),
  updateTeam: endpoint("PATCH /api/cli/teams/{slug}", {
    summary: "Change the name or the slug of a team",
    permission: "members",
    params: teamParams,
    body: UpdateTeam,
    answer: Team,
    refusals: ["name_taken"],
  }),
  deleteTeam: endpoint("DELETE /api/cli/teams/{slug}", {
    summary: "Delete a team without zones, workers and unfinished jobs",
    description:
      "Its members, invitations, access tokens, registration tokens, cloud identities and variable sets are deleted with it.",
    permission: "members",
    params: teamParams,
    refusals: ["team_not_empty"],
  }),
  listMembers: endpoint("GET /api/cli/teams/{slug}/members", {
    summary: "List the members of a team",
    permission: "read",
    params: teamParams,
    query: Paging,
    answer: Type.Object({ members: Type.Array(Member), next_cursor: NextCursor }),
  }),
  updateMember: endpoint("PATCH /api/cli/teams/{slug}/members/{user_id}", {
    summary: "Change the roles of a member, in the whole team or in some of its zones",
    description:
      "It changes what the invitation gave. Groups may give a higher role, which counts then.",
    permission: "members",
    params: memberParams,
    body: UpdateMember,
    answer: Member,
    refusals: ["last_admin", "member_by_group"],
  }),
  removeMember: endpoint("DELETE /api/cli/teams/{slug}/members/{user_id}", {
    summary: "Remove a member, or leave the team",
    description:
      "Every member may leave; removing another one needs the role admin. Access ends at once, and so do the member's event streams and access tokens of this team. Their jobs stay with the team. Someone who is a member by groups too stays one.",
    permission: "account",
    params: memberParams,
    refusals: ["last_admin", "member_by_group"],
  }),
  listTeamGroups: endpoint("GET /api/cli/teams/{slug}/groups", {
    summary: "Read which groups of sign-in providers make people members of a team",
    permission: "members",
    params: teamParams,
    answer: TeamGroups,
  }),
  replaceTeamGroups: endpoint("PUT /api/cli/teams/{slug}/groups", {
    summary: "Replace the groups whose people are members of a team",
    description:
      "It applies at once to everyone who has signed in with the provider, and to others when they do. A member's role is the highest of what the invitation and the groups give; who is in none of the groups any longer and was not invited leaves the team.",
    permission: "members",
    params: teamParams,
    body: ReplaceTeamGroups,
    answer: TeamGroups,
    refusals: ["last_admin", "quota_exceeded", "changed_meanwhile"],
  }),
  createInvitation: endpoint("POST /api/cli/teams/{slug}/invitations", {
    summary: "Invite a person by a link, which is returned once",
    description: `The link works once, for ${invitationDays} days. It opens a page that shows the team, the role and the inviter, and asks before it does anything. A person who is no user of the server yet signs in there first, and may do so because of the invitation.`,
    permission: "members",
    params: teamParams,
    body: CreateInvitation,
    status: 201,
    answer: CreatedInvitation,
    refusals: ["quota_exceeded"],
  }),
  listInvitations: endpoint("GET /api/cli/teams/{slug}/invitations", {
    summary: "List the invitations of a team that are still open, newest first",
    permission: "members",
    params: teamParams,
    query: Paging,
    answer: Type.Object({ invitations: Type.Array(Invitation), next_cursor: NextCursor }),
  }),
  revokeInvitation: endpoint("DELETE /api/cli/teams/{slug}/invitations/{id}", {
    summary: "Revoke an invitation; its link stops working at once",
    permission: "members",
    params: { slug, id: about(Uuid, "The invitation.") },
  }),
};
