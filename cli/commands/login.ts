/** `windlass login`, `logout` and `whoami`. */
import { Command } from "@commander-js/extra-typings";
import type { Role } from "../../protocol/roles.ts";
import type { Team } from "../../protocol/teams.ts";
import { examples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { time, timeAndAge } from "../terminal/times.ts";

export const loginCommand = () =>
  examples(
    new Command("login")
      .description("sign in to a server: approve in the browser, type the six characters here")
      .option("--no-browser", "print the address, but do not open a browser")
      .action(
        action(async (run, { browser }: { browser: boolean }) => {
          const { login } = await import("../people/sign-in.ts");
          await login(run, { openBrowser: browser });
        }),
      ),
    [
      ["windlass login --server https://windlass.example.com", "the first time"],
      ["windlass login", "again, to the server of the current profile"],
      [
        "windlass login --server https://other.example.com --profile other",
        "with a profile name of your choice",
      ],
    ],
  );

/** Builds `windlass logout`, which ends the login here and at the server. */
export const logoutCommand = () =>
  examples(
    new Command("logout").description("end this login, here and at the server").action(
      action(async (run) => {
        const { logout } = await import("../people/sign-in.ts");
        await logout(run);
      }),
    ),
    [["windlass logout --profile staging", "end the login of that profile"]],
  );

interface ShownTeam {
  readonly slug: string | undefined;
  /** Null: the user is not a member, or has roles in zones only. */
  readonly role: Role | null;
  /** Missing: the user is not a member. */
  readonly zones?: Team["zones"];
}

/** The team that commands act in; null for a personal space. */
async function teamOf(api: Run["api"]): Promise<ShownTeam | null> {
  const { actingTeam, isTeamNotFound } = await import("../teams/acting.ts");
  try {
    const team = await actingTeam({ api });
    return team ? { slug: team.slug, role: team.role, zones: team.zones } : null;
  } catch (error) {
    // After the user was removed from it, for example.
    if (isTeamNotFound(error)) return { slug: api.team, role: null };
    throw error;
  }
}

const teamText = (team: ShownTeam | null): string =>
  team === null
    ? "none: the personal space"
    : `${team.slug} (${team.zones ? `you are ${team.role ?? "a member in some of its zones"}` : "you are not a member"})`;

async function showAccessToken(
  api: Run["api"],
  show: Run["show"],
  tokenName: string,
): Promise<void> {
  const token = await api.call("getCurrentAccessToken");
  const team = await teamOf(api);
  const { id, name, role, expires_at, created_by } = token;
  const value = {
    server: api.server,
    user_email: created_by,
    login_id: null,
    signed_in_at: null,
    access_token: { id, name, role, expires_at },
    team,
  };
  const limit = team?.role && team.role !== role ? team.role : undefined;
  show(value, {
    server: value.server,
    "access token": `${name}, from ${tokenName}`,
    role:
      limit === undefined
        ? (role ?? "in some zones")
        : `${role}, limited to ${limit}: the role of its creator`,
    team: teamText(team),
    "created by": created_by,
    expires: time(expires_at),
  });
}

/** Builds `windlass whoami`, which shows the current login as the server has it. */
export const whoamiCommand = () =>
  examples(
    new Command("whoami").description("show who is signed in, and to which server").action(
      action(async ({ api, show, settings }) => {
        const { tokenVariable } = await import("../config.ts");
        const tokenName = tokenVariable(settings);
        // The token of the environment is used if no profile was asked for.
        if (api.isAccessToken) return showAccessToken(api, show, tokenName);
        const { logins } = await api.call("listLogins");
        const login = logins.find(({ current }) => current);
        const value = {
          server: api.server,
          user_email: api.email ?? null,
          login_id: login?.id ?? null,
          signed_in_at: login?.created_at ?? null,
          team: await teamOf(api),
        };
        show(value, {
          server: value.server,
          email: value.user_email ?? `unknown: the token comes from ${tokenName}`,
          "signed in": timeAndAge(value.signed_in_at),
          login: value.login_id,
          team: teamText(value.team),
        });
      }),
    ),
    [["windlass whoami --json | jq -r .server", "print the server, for a script"]],
  );
