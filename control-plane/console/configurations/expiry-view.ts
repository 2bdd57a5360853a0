/** The end of a configuration (`expires_at`): when what is deployed is destroyed by itself. */
import type { Configuration } from "../../../protocol/configurations.ts";
import { endsSoon } from "../../../protocol/words.ts";
import { momentAt } from "../../domain/cron.ts";
import { time } from "../../domain/moments.ts";
import { ask, line, trouble } from "../page/fields.ts";
import { figure } from "../page/figures.ts";
import { markOf, type Form, type FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { ago, clock, plainTime, until } from "../page/words.ts";

const isPast = (at: string, now: string): boolean => Date.parse(at) <= Date.parse(now);

/** From a day before on. */
export const expiryNotice = (configuration: Configuration, now: string): Html | null => {
  const { id, expires_at } = configuration;
  return expires_at && endsSoon(configuration, Date.parse(now))
    ? html`<p class="notice flow">
        What is deployed will be destroyed ${until(expires_at, now)}.
        <a href="/configurations/${id}/settings#expiry">Change when</a>
      </p>`
    : null;
};

export const expiryFigure = ({ expires_at }: Configuration, now: string): Html | null => {
  if (!expires_at) return null;
  return isPast(expires_at, now)
    ? figure("Expired", ago(expires_at, now), "What was deployed was to be destroyed then")
    : figure("Expires", until(expires_at, now), "What is deployed is destroyed then");
};

const fieldsOf = ({ expires_at }: Pick<Configuration, "expires_at">) => ({
  expires_at: expires_at ? expires_at.slice(0, 16) : "",
});

export const seenExpiry = ({ expires_at = null }: Pick<Configuration, "expires_at">) => expires_at;

export function expirySection(configuration: Configuration, forms: FormsOf, now: string): Html {
  const { id, expires_at = null } = configuration;
  const form = forms("expiry", fieldsOf(configuration));
  const path = `/configurations/${id}/settings`;
  return html`<section aria-labelledby="expiry">
    <h2 id="expiry">Temporary environment</h2>
    <p>${standing(expires_at, now)}</p>
    ${trouble(form, ["expires_at"], path)}
    ${ask(
      expires_at === null ? "Destroy it at a time…" : "Change or end this…",
      html`<form method="post" action="${path}/expiry" class="form">
        <input type="hidden" name="seen" value="${markOf(expires_at)}" />
        ${line(form, {
          name: "expires_at",
          label: "Destroy what is deployed at (UTC)",
          moment: true,
          hint: "Empty: never. Under an approval rule, a plan is queued then, and the destruction waits for the approvals. Members are told a day before.",
        })}
        <p><button>Save the time</button></p>
      </form>`,
      form.refusal !== undefined,
    )}
  </section>`;
}

const standing = (expires_at: string | null, now: string): Html | string => {
  if (expires_at === null) return "What is deployed stays until a person destroys it.";
  return isPast(expires_at, now)
    ? html`The time has passed: ${clock(expires_at)}. What was deployed then was to be destroyed;
      see the jobs. To use it again, end this or choose a later time.`
    : html`What is deployed is destroyed at ${plainTime(expires_at)}, ${until(expires_at, now)}.`;
};

/** The schema refuses what is no time. */
export function expiryIn(form: Form): string | null {
  const wall = form.word("expires_at");
  const at = wall === "" ? null : momentAt("UTC", wall);
  return at === null ? wall || null : time(at);
}
