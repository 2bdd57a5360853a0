/** The page that the link of an invitation opens. Looking at it changes nothing. */
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import {
  acceptInvitation,
  openInvitation,
  type ShownInvitation,
} from "../../services/teams/invitations.ts";
import { door } from "../page/door.ts";
import { html, type Html } from "../page/html.ts";
import { clock } from "../page/words.ts";
import type { SignedIn } from "../signed-in.ts";

export function invitationPages(pages: SignedIn, context: Context): void {
  pages.get("/invitations/:token", "read", async (caller, { params }) => {
    const { token } = params as { token: string };
    const invitation = await openInvitation(context, caller, token);
    const body = invitationPage(caller, invitation, token);
    return { title: `Join ${invitation.team.name}`, body };
  });
  pages.post("/invitations/:token", "account", async (caller, { params }) => {
    const { token } = params as { token: string };
    return overviewOf(await acceptInvitation(context, caller, token));
  });
}

const overviewOf = (slug: string): string => `/?team=${slug}`;

const invitationPage = (
  { email }: UserCaller,
  { team, role, created_by, expires_at, isMember, isForCaller, ...invitation }: ShownInvitation,
  token: string,
): Html =>
  door(
    {
      sign: "users",
      title: `Join the team ${team.name}?`,
      text: html`<strong>${created_by}</strong> invites you to the team
        <strong>${team.name}</strong>
        ${
          role === null
            ? html`with roles in some of its zones.`
            : html`as <strong>${role}</strong>: ${roleTexts[role]}`
        }`,
    },
    isMember
      ? html`<p>You are a member of this team already.</p>
          <div class="ways">
            <a class="button" href="${overviewOf(team.slug)}">Open the team</a>
          </div>`
      : isForCaller
        ? html`<form method="post" action="/invitations/${token}">
            <button>Join as ${email}</button>
          </form>`
        : html`<p class="error flow">
            This invitation is for <strong>${invitation.email}</strong>, and you are signed in as
            <strong>${email}</strong>. Sign out, open the link again, and sign in with an account
            that has this verified address.
          </p>`,
    html`<p class="small">
      ${
        invitation.email === null || !isForCaller
          ? null
          : html`Only <strong>${invitation.email}</strong> can accept this invitation.`
      }
      The link works once, and expires ${clock(expires_at)}.
    </p>`,
  );

const roleTexts = {
  viewer: "you can read everything of the team except secrets.",
  planner: "you can read everything except secrets, and plan.",
  deployer: "you can plan, deploy and destroy, and change zones, configurations and states.",
  admin: "you can do everything, which includes members, workers and cloud identities.",
} as const;
