/** `windlass teams`: teams, their members and invitations. */
import { Argument } from "@commander-js/extra-typings";
import { examples, noun, yes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { roleOption, rolesHelp, zoneOption } from "./roles.ts";
import type { MemberOptions } from "../teams/members.ts";
import type { RoleOptions } from "../teams/zone-roles.ts";

const teamsCode = () => import("../teams/teams.ts");
const membersCode = () => import("../teams/members.ts");
const groupsCode = () => import("../teams/groups.ts");
const team = () => new Argument("<team>", "slug of the team");
const member = () => new Argument("<member>", "e-mail address or id of the member");

interface Yes {
  readonly yes?: true | undefined;
}

export function teamsCommand() {
  const teams = noun("teams", "teams: what several people share, each of them with a role");
  examples(
    teams
      .command("list")
      .description("list your teams; * marks the one that commands act in")
      .action(action(async (run: Run) => (await teamsCode()).list(run))),
    [["windlass teams list", "with your role in each"]],
  );
  examples(
    teams
      .command("create")
      .description("create a team; you are its admin")
      .argument("<name>", "1 to 100 characters")
      .option(
        "--slug <slug>",
        "its name in commands and links: up to 40 of a-z, 0-9 and - (default: made from the name)",
      )
      .action(
        action(async (run: Run, name: string, options: { slug?: string | undefined }) =>
          (await teamsCode()).create(run, name, options),
        ),
      ),
    [["windlass teams create 'Platform team' --slug platform", "create one"]],
  );
  examples(
    teams
      .command("show")
      .description("show a team and its members; with --json, the team alone")
      .argument("[team]", "slug of the team (default: the one that commands act in)")
      .action(
        action(async (run: Run, slug: string | undefined) => (await teamsCode()).show(run, slug)),
      ),
    [["windlass teams show platform", "with its members"]],
  );
  examples(
    teams
      .command("rename")
      .description("change the name or the slug of a team")
      .addArgument(team())
      .argument("[new-name]", "1 to 100 characters")
      .option("--slug <slug>", "the new slug; links with the old one stop working")
      .action(
        action(
          async (
            run: Run,
            slug: string,
            name: string | undefined,
            options: { slug?: string | undefined },
          ) => (await teamsCode()).rename(run, slug, name, options),
        ),
      ),
    [["windlass teams rename platform Infrastructure --slug infrastructure", "both"]],
  );
  examples(
    teams
      .command("delete")
      .description("delete a team that has no zones, workers and unfinished jobs")
      .addArgument(team())
      .addOption(yes())
      .action(
        action(async (run: Run, slug: string, options: Yes) =>
          (await teamsCode()).remove(run, slug, options),
        ),
      ),
    [["windlass teams delete platform", "asks for confirmation"]],
  );
  examples(
    teams
      .command("use")
      .description("act in a team with all later commands of this profile")
      .argument("<team>", 'slug of the team; "" for your personal space')
      .action(action(async (run: Run, slug: string) => (await teamsCode()).use(run, slug))),
    [
      ["windlass teams use platform", "act in the team from now on"],
      ["windlass jobs list --team platform", "or only with one command"],
      ['windlass teams use ""', "act in your personal space again"],
    ],
  );
  teams.addCommand(membersCommand());
  teams.addCommand(groupsCommand());
  examples(
    teams
      .command("invite")
      .description("print a link with which one person joins the team; it works once, for 7 days")
      .argument("[email]", "only an account with this verified address may use the link")
      .addOption(roleOption("the role of the new member in the whole team"))
      .addOption(zoneOption())
      .addHelpText("after", rolesHelp)
      .action(
        action(async (run: Run, email: string | undefined, options: RoleOptions) =>
          (await membersCode()).invite(run, email, options),
        ),
      ),
    [
      ["windlass teams invite ada@example.com --role deployer", "only for this address"],
      ["windlass teams invite --role viewer --team platform", "for the first who opens it"],
      ["windlass teams invite ada@example.com --zone staging=planner", "sees this zone only"],
    ],
  );
  teams.addCommand(invitationsCommand());
  examples(
    teams
      .command("leave")
      .description("leave a team; its last admin cannot")
      .addArgument(team())
      .addOption(yes())
      .action(
        action(async (run: Run, slug: string, options: Yes) =>
          (await teamsCode()).leave(run, slug, options),
        ),
      ),
    [["windlass teams leave platform", "asks for confirmation"]],
  );
  return examples(teams, [
    ["windlass teams create Platform", "create one"],
    ["windlass teams invite --role deployer --team platform", "let someone join it"],
    ["windlass teams use platform", "act in it from now on"],
  ]);
}

function membersCommand() {
  const members = noun("members", "the members of the team that commands act in");
  examples(
    members
      .command("list")
      .description("list the members with their roles")
      .action(action(async (run: Run) => (await membersCode()).listMembers(run))),
    [["windlass teams members list --team platform", "of this team"]],
  );
  examples(
    members
      .command("update")
      .description("change the roles of a member, in the whole team or in zones")
      .addArgument(member())
      .addOption(roleOption("the new role in the whole team"))
      .addOption(zoneOption())
      .option("--no-role", "no role in the whole team, only those in zones")
      .option("--no-zones", "no roles in zones, only that in the whole team")
      .addHelpText("after", rolesHelp)
      .action(
        action(async (run: Run, named: string, options: MemberOptions) =>
          (await membersCode()).updateMember(run, named, options),
        ),
      ),
    [
      ["windlass teams members update ada@example.com --role admin", "make her an admin"],
      [
        "windlass teams members update ada@example.com --zone sandbox=deployer",
        "raise the role in one zone; --zone replaces all roles in zones",
      ],
      [
        "windlass teams members update ada@example.com --role viewer --no-zones",
        "take all roles in zones away; without --no-zones they stay",
      ],
    ],
  );
  examples(
    members
      .command("remove")
      .description("remove a member, whose access ends at once")
      .addArgument(member())
      .addOption(yes())
      .action(
        action(async (run: Run, named: string, options: Yes) =>
          (await membersCode()).removeMember(run, named, options),
        ),
      ),
    [["windlass teams members remove ada@example.com", "asks for confirmation"]],
  );
  return members;
}

interface OfProvider {
  readonly issuer?: string | undefined;
}
const issuerOption = [
  "--issuer <issuer>",
  "address of the sign-in provider, or its name in the server's settings, such as oidc_2",
] as const;

function groupsCommand() {
  const groups = noun(
    "groups",
    "groups of a sign-in provider whose people are members of the team",
  );
  examples(
    groups
      .command("list")
      .description("list the groups with the roles that they give")
      .action(action(async (run: Run) => (await groupsCode()).listGroups(run))),
    [["windlass teams groups list --team platform", "of this team"]],
  );
  examples(
    groups
      .command("add")
      .description("admit a group, or change the role that it gives")
      .argument("<group>", "its name, as the provider writes it")
      .addOption(roleOption("the role of its people in the whole team"))
      .addOption(zoneOption())
      .option(...issuerOption)
      .addHelpText("after", rolesHelp)
      .action(
        action(async (run: Run, group: string, options: RoleOptions & OfProvider) =>
          (await groupsCode()).addGroup(run, group, options),
        ),
      ),
    [["windlass teams groups add /platform/engineers --role deployer", "at once for all of them"]],
  );
  examples(
    groups
      .command("remove")
      .description("remove a group; members who have nothing else leave the team")
      .argument("<group>", "its name")
      .option(...issuerOption)
      .addOption(yes())
      .action(
        action(async (run: Run, group: string, options: Yes & OfProvider) =>
          (await groupsCode()).removeGroup(run, group, options),
        ),
      ),
    [["windlass teams groups remove /platform/engineers", "asks for confirmation"]],
  );
  return groups;
}

function invitationsCommand() {
  const invitations = noun("invitations", "the open invitations of the team that commands act in");
  examples(
    invitations
      .command("list")
      .description("list the invitations that are open, newest first")
      .action(action(async (run: Run) => (await membersCode()).listInvitations(run))),
    [["windlass teams invitations list --team platform", "of this team"]],
  );
  examples(
    invitations
      .command("revoke")
      .description("revoke an invitation: its link stops working at once")
      .argument("<invitation>", "id of the invitation, the beginning of it, or its address")
      .action(
        action(async (run: Run, named: string) =>
          (await membersCode()).revokeInvitation(run, named),
        ),
      ),
    [["windlass teams invitations revoke 01890a5d-ac96", "when it was sent to the wrong person"]],
  );
  return invitations;
}
