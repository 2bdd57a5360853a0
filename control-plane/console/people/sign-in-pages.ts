import type { ApprovedDevice } from "../../services/people/device-login.ts";
import { shellWord } from "../../../common/shell-word.ts";
import { door } from "../page/door.ts";
import { commandLine } from "../page/empty.ts";
import { html, type Html } from "../page/html.ts";
import { copyIcon, copyScript } from "../page/secret.ts";
import { clock } from "../page/words.ts";

const createLink = (email = "you@example.com"): Html =>
  commandLine(`windlass server login-link --email ${shellWord(email)}`);

/** What to do without a session. `isUnsent`: a form was sent without one. */
export const loginPage = (
  next: string | undefined,
  providers: readonly { readonly name: string; readonly title: string }[],
  isUnsent: boolean,
): Html =>
  door(
    {
      sign: "mark",
      title: "Sign in to Windlass",
      text: "It runs Terraform and OpenTofu for your team: plans to review, approvals, logs and states in one place.",
    },
    html`${
        isUnsent
          ? html`<p class="error flow" role="alert">
              You were signed out, so what you sent changed nothing. Sign in, and send it once more.
            </p>`
          : null
      }
      ${
        providers.length === 0
          ? null
          : html`<div class="ways">
                ${providers.map(
                  ({ name, title }) =>
                    html`<a
                      class="button ${providers.length > 1 ? "quiet" : ""}"
                      href="/api/auth/login/${name}?next=${encodeURIComponent(next ?? "/")}"
                      >Continue with ${title}</a
                    >`,
                )}
              </div>
              <div class="or">or with a one-time link</div>`
      }
      <p class="small">The operator of this server creates one there:</p>
      ${createLink()}
      <p class="small">
        The link works once, for 15 minutes. Open it in this browser.
        ${
          next === undefined || next === "/"
            ? null
            : html`${next.startsWith("/invitations/") ? "You are invited to a team: sign in to join it. " : null}Afterwards
                you return to <a href="${next}">the page that you opened</a>.`
        }
      </p>`,
  );

export const failedSignInPage = (reason: string): Html =>
  door(
    { sign: "ban", tone: "bad", title: "You are not signed in", text: `${reason}.` },
    html`<div class="ways"><a class="button" href="/login">Try again</a></div>`,
  );

/** The page of a user whom WINDLASS_SIGN_IN_ALLOW excludes. It does not reveal who is allowed. */
export const notAllowedPage = (person: {
  readonly title: string;
  readonly email: string;
  /** Has signed in before: a link would make them another person here. */
  readonly isKnown: boolean;
  readonly asksGroups: boolean;
  readonly hasTooManyGroups: boolean;
}): Html =>
  door(
    {
      sign: "lock",
      tone: "warn",
      title: "You may not use this server yet",
      text: html`${person.title} reports your address as <strong>${person.email}</strong>, which may
        not sign in here. Nothing was stored.`,
    },
    html`<p>Send this to the operator of the server, who can do one of these:</p>
      <ul>
        ${
          person.isKnown
            ? null
            : html`<li>Create a link that signs you in: ${createLink(person.email)}</li>`
        }
        <li>
          Add your address, its domain, or an organisation or group that you are in to
          <code>WINDLASS_SIGN_IN_ALLOW</code>, and start the server again.
        </li>
      </ul>
      ${
        person.asksGroups
          ? html`<p class="small">
              Are you in an organisation that may sign in? It must have approved this application at
              ${person.title}, and your membership must be accepted.
            </p>`
          : null
      }
      ${person.hasTooManyGroups ? html`<p class="small">${tooManyGroups(person.title)}</p>` : null}
      <div class="ways"><a class="button" href="/login">Try again</a></div>
      <p class="small">To use another account, sign out at ${person.title} first.</p>`,
  );

const tooManyGroups = (title: string): string =>
  `${title} has left out your groups, because you are in too many. What you may do by a group does not apply. The administrator of ${title} can limit the groups that it sends to those assigned to this application.`;

/** Shown once after such a sign-in. */
export const missingGroupsPage = (title: string, next: string): Html =>
  door(
    { sign: "users", tone: "warn", title: "You are signed in", text: tooManyGroups(title) },
    html`<div class="ways"><a class="button" href="${next}">Continue</a></div>`,
  );

/** Where the browser arrives that `windlass server doctor --oidc` has sent to a provider. */
export const doctorPage = (): Html =>
  door(
    {
      sign: "terminal",
      title: "Copy the address of this page",
      text: html`Paste it to <code>windlass server doctor</code> in the terminal. You are not signed
        in here.`,
    },
    html`<p class="small">
      Did you not start that command? Then someone else has sent you here: close this page, and give
      the address to no one.
    </p>`,
  );

/** A link that was opened before, or too late. `email`: who is signed in already. */
export const deadLinkPage = (email: string | undefined): Html =>
  door(
    {
      sign: "clock",
      tone: "warn",
      title: "This link no longer works",
      text: "A sign-in link works once, for 15 minutes.",
    },
    email === undefined
      ? html`<p>Create a new one on the server:</p>`
      : html`<p>You are signed in as <strong>${email}</strong>.</p>
          <div class="ways"><a class="button" href="/">To the overview</a></div>
          <p class="small">To sign in as another person, create a new one on the server:</p>`,
    createLink(),
  );

/** Asks the signed-in person whether the client that opened the browser may act for them. */
export const approvePage = (deviceCode: string, email: string): Html =>
  door(
    {
      sign: "terminal",
      title: "Sign in the command-line client?",
      text: html`A <code>windlass</code> client asks to act as <strong>${email}</strong>. Approve
        only if you started it just now. You then get a code to type there.`,
    },
    html`<form method="post" action="/cli/login">
        <input type="hidden" name="device_code" value="${deviceCode}" />
        <button>Approve</button>
      </form>
      <p class="small">Did you not start it? Close this page, and nothing is approved.</p>
      <p class="small">Request ${deviceCode}</p>`,
  );

/** The six characters to type at the client, how long they work, and whether they were used. */
export const codePage = ({
  device_code,
  verification_code,
  expires_at,
  state,
}: ApprovedDevice): Html =>
  html`<div
      id="device"
      data-live
      data-from="/cli/login?device_code=${encodeURIComponent(device_code)}"
    >
      ${
        state === "used"
          ? door(
              {
                sign: "circle-check",
                tone: "good",
                title: deviceTitles[state],
                isLive: true,
                text: "You can close this page and go on at the client.",
              },
              html`<p class="small"><a href="/settings">Settings</a> has all your logins.</p>`,
            )
          : state === "dead"
            ? door(
                {
                  sign: "clock",
                  tone: "warn",
                  title: deviceTitles[state],
                  isLive: true,
                  text: "The code expired, or was entered wrongly five times. Start again at the client:",
                },
                commandLine("windlass login"),
              )
            : door(
                {
                  sign: "terminal",
                  title: deviceTitles[state],
                  isLive: true,
                  text: "It is signed in as soon as the code is typed.",
                },
                html`<div class="shown-code">
                    <p class="code" id="code">${verification_code}</p>
                    ${copyIcon("code", "Copy the code")}
                  </div>
                  <p class="small">
                    The code expires ${clock(expires_at)}, or after five wrong guesses.
                  </p>`,
              )
      }
    </div>
    ${copyScript}`;

const deviceTitles = {
  waiting: "Type this code at the client",
  used: "The client is signed in",
  dead: "This code no longer works",
} as const;

/** Why a device login cannot be approved, and what to do. */
export const deadDevicePage = (reason: string): Html =>
  door(
    {
      sign: "ban",
      tone: "bad",
      title: "This sign-in cannot continue",
      text: `${reason}. Start again at the client:`,
    },
    commandLine("windlass login"),
  );
