import type { ApprovedDevice } from "../../services/people/device-login.ts";
import { html, type Html } from "../page/html.ts";
import { clock } from "../page/words.ts";

/** What to do without a session. `isUnsent`: a form was sent without one. */
export const loginPage = (
  next: string | undefined,
  providers: readonly { readonly name: string; readonly title: string }[],
  isUnsent: boolean,
): Html =>
  html`<div class="door">
    <h1>Sign in</h1>
    ${
      isUnsent
        ? html`<p class="error flow" role="alert">
            You were signed out, so what you sent changed nothing. Sign in, and send it once more.
          </p>`
        : null
    }
    ${
      next === undefined || next === "/"
        ? null
        : html`<p class="soft">
            ${next.startsWith("/invitations/") ? "You are invited to a team. Sign in to join it. " : null}Afterwards
            you return to <a href="${next}">the page that you opened</a>.
          </p>`
    }
    ${providers.map(
      ({ name, title }) =>
        html`<p>
          <a class="button" href="/api/auth/login/${name}?next=${encodeURIComponent(next ?? "/")}"
            >Continue with ${title}</a
          >
        </p>`,
    )}
    ${providers.length === 0 ? null : html`<h2>Or with a link</h2>`}
    <p>The operator of this server can create a one-time link for you. On the server:</p>
    <p><code>windlass server login-link --email you@example.com</code></p>
    <p class="soft">The link works once, for 15 minutes. Open it in this browser.</p>
  </div>`;

export const failedSignInPage = (reason: string): Html =>
  html` <h1>You are not signed in</h1>
    <p>${reason}.</p>
    <p><a href="/login">Try again</a></p>`;

/** The page of a user whom WINDLASS_SIGN_IN_ALLOW excludes. It does not reveal who is allowed. */
export const notAllowedPage = (person: {
  readonly title: string;
  readonly email: string;
  /** Has signed in before: a link would make them another person here. */
  readonly isKnown: boolean;
  readonly asksGroups: boolean;
}): Html =>
  html` <h1>You may not use this server yet</h1>
    <p>
      ${person.title} reports your address as <strong>${person.email}</strong>, which may not sign
      in here. Nothing was stored.
    </p>
    <p>Send this to the operator of the server, who can do one of these:</p>
    <ul>
      ${
        person.isKnown
          ? null
          : html`<li>
              Create a link that signs you in:
              <code>windlass server login-link --email ${person.email}</code>
            </li>`
      }
      <li>
        Add your address, its domain, or a GitHub organisation or GitLab group that you are in to
        <code>WINDLASS_SIGN_IN_ALLOW</code>, and start the server again.
      </li>
    </ul>
    ${
      person.asksGroups
        ? html`<p>
            Are you in an organisation that may sign in? It must have approved this application at
            ${person.title}, and your membership must be accepted.
          </p>`
        : null
    }
    <p>
      To use another account, sign out at ${person.title} first, then
      <a href="/login">try again</a>.
    </p>`;

/** A link that was opened before, or too late. `email`: who is signed in already. */
export const deadLinkPage = (email: string | undefined): Html =>
  html` <h1>This link no longer works</h1>
    ${
      email === undefined
        ? html`<p>A sign-in link works once, for 15 minutes. Create a new one on the server:</p>`
        : html`<p>
              You are signed in as <strong>${email}</strong>. <a href="/">To the overview</a>
            </p>
            <p>
              A sign-in link works once, for 15 minutes. To sign in as another person, create a new
              one on the server:
            </p>`
    }
    <p><code>windlass server login-link --email you@example.com</code></p>`;

/** Asks the signed-in person whether the client that opened the browser may act for them. */
export const approvePage = (deviceCode: string, email: string): Html =>
  html`<div class="door">
    <h1>Sign in the command-line client?</h1>
    <p>
      A <code>windlass</code> client asks to act as <strong>${email}</strong>. Approve only if you
      started it just now. You then get a code to type there.
    </p>
    <form method="post" action="/cli/login">
      <input type="hidden" name="device_code" value="${deviceCode}" />
      <button>Approve</button>
    </form>
    <p class="soft">Request ${deviceCode}</p>
  </div>`;

/** The six characters to type at the client, how long they work, and whether they were used. */
export const codePage = ({
  device_code,
  verification_code,
  expires_at,
  state,
}: ApprovedDevice): Html =>
  html`<div
    id="device"
    class="door"
    data-live
    data-from="/cli/login?device_code=${encodeURIComponent(device_code)}"
  >
    <div role="status">
      <h1>${deviceTitles[state]}</h1>
    </div>
    ${
      state === "used"
        ? html`<p>
            You can close this page. <a href="/settings">Settings</a> has all your logins.
          </p>`
        : state === "dead"
          ? html`<p>
              The code expired, or was entered wrongly five times. Start again at the client:
              <code>windlass login</code>
            </p>`
          : html`<p class="code">${verification_code}</p>
              <p class="soft">
                The code expires ${clock(expires_at)}, or after five wrong guesses.
              </p>`
    }
  </div>`;

const deviceTitles = {
  waiting: "Type this code at the client",
  used: "The client is signed in",
  dead: "This code no longer works",
} as const;

/** Why a device login cannot be approved, and what to do. */
export const deadDevicePage = (reason: string): Html =>
  html` <h1>This sign-in cannot continue</h1>
    <p>${reason}. Start again at the client: <code>windlass login</code></p>`;

export const refusalPage = (title: string, detail: string, back = "/"): Html =>
  html` <h1>${title}</h1>
    ${detail === `${title}.` ? null : html`<p>${detail}</p>`}
    <p><a href="${back}">${back === "/" ? "To the overview" : "Back to the previous page"}</a></p>`;
