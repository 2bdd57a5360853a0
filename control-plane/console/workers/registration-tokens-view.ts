/** The registration tokens that can still be used. */
import type { RegistrationTokenInfo } from "../../../protocol/workers.ts";
import { trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { ago, clock, count } from "../page/words.ts";

/** The tokens with their buttons; `form` is the one that was refused, or empty. */
export const registrationTokensView = (
  tokens: readonly RegistrationTokenInfo[],
  form: Form,
  now: string,
): Html =>
  html`${trouble(form)}
  ${
    tokens.length === 0
      ? null
      : html`<h2 id="tokens">Open registration tokens</h2>
          <p class="soft">
            Each can still register workers. Revoke those that you do not need; registered workers
            stay.
          </p>
          ${table(
            "Open registration tokens",
            ["Id", "For", "Created", "Expires", "Revoke"],
            tokens.map(({ id, uses_left, created_at, expires_at }) => [
              html`<code>${id}</code>`,
              count(uses_left, "worker"),
              ago(created_at, now),
              clock(expires_at),
              html`<form method="post" action="/workers/revoke-token">
                <input type="hidden" name="id" value="${id}" />
                <button class="quiet" aria-label="Revoke the registration token ${id}">
                  Revoke
                </button>
              </form>`,
            ]),
          )}`
  }`;
