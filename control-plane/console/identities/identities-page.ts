import type { CloudIdentity, TrustPolicy } from "../../../protocol/cloud-identities.ts";
import type { Configuration } from "../../../protocol/configurations.ts";
import { namesInShort } from "../../../protocol/words.ts";
import { line, trouble } from "../page/fields.ts";
import type { Form, FormsOf } from "../page/form.ts";
import { olderLink, type ListPage } from "../page/list.ts";
import { empty } from "../page/empty.ts";
import { html, type Html } from "../page/html.ts";
import { deleteSection, row } from "../page/rare.ts";
import { copyScript } from "../page/secret.ts";
import { table } from "../page/table.ts";
import { clock } from "../page/words.ts";

export const identitiesPage = (
  { items: identities, next }: ListPage<CloudIdentity>,
  form: Form,
): Html =>
  html`<h1>Cloud identities</h1>
    <p class="soft">
      A role in your cloud account that jobs assume while they run. No key is stored here or on a
      worker.
    </p>
    ${
      identities.length === 0
        ? empty({
            icon: "key-round",
            title: "No identity yet",
            text: "Name the role that terraform should use. The page of the identity then shows the trust policy to paste at AWS.",
          })
        : table(
            "Cloud identities",
            ["Name", "Role", "Created"],
            identities.map(({ id, name, role_arn, created_at }) => [
              html`<a href="/identities/${id}">${name}</a>`,
              html`<code>${role_arn}</code>`,
              clock(created_at),
            ]),
          )
    }
    ${olderLink("/identities", next, "identities")}
    <section aria-labelledby="create">
      <h2 id="create">New identity</h2>
      <form method="post" action="/identities" class="form">
        ${fields(form)}
        <p><button>Create the identity</button></p>
      </form>
    </section>`;

const fields = (form: Form): Html =>
  html`${trouble(form, ["name", "role_arn", "plan_role_arn"])}
  ${line(form, { name: "name", label: "Name", required: true })}
  ${line(form, {
    name: "role_arn",
    label: "Role at AWS",
    placeholder: "arn:aws:iam::123456789012:role/terraform",
    hint: "The ARN of the role. It need not exist yet.",
    required: true,
  })}
  ${line(form, {
    name: "plan_role_arn",
    label: "Role of plans",
    hint: "Optional. A role that can only read, with the same external id: every PLAN assumes it, and with it plans of pull requests have the identity too.",
  })}`;

export interface IdentityViewModel {
  readonly identity: CloudIdentity;
  readonly users: readonly Pick<Configuration, "id" | "name">[];
  /** Null until a principal to trust is named. */
  readonly policy: TrustPolicy | null;
  /** The form that names it. */
  readonly trusted: Form;
}

export const identityPage = (
  { identity, users, policy, trusted }: IdentityViewModel,
  forms: FormsOf,
): Html => {
  const { name, role_arn, plan_role_arn: planRole = null } = identity;
  return html`<nav class="trail" aria-label="Above"><a href="/identities">Identities</a></nav>
    <h1>${name}</h1>
    <dl class="facts">
      <dt>Role</dt>
      <dd><code>${role_arn}</code></dd>
      ${
        planRole === null
          ? null
          : html`<dt>Role of plans</dt>
              <dd><code>${planRole}</code></dd>`
      }
      <dt>External id</dt>
      <dd><code>${identity.external_id}</code></dd>
      <dt>Used by</dt>
      <dd>
        ${
          users.length === 0
            ? "no configuration yet: select the identity in the settings of one"
            : users.map(({ id, name }) => html`<a href="/configurations/${id}">${name}</a> `)
        }
      </dd>
      <dt>Changed</dt>
      <dd>${clock(identity.updated_at)}</dd>
    </dl>
    <section aria-labelledby="trust">
      <h2 id="trust">Trust policy</h2>
      <p>
        Paste this at AWS: IAM, Roles, the role, Trust relationships. It lets the principal of the
        workers assume the role, but only with this external id, which no other user of this server
        gets.
      </p>
      <form method="get" action="/identities/${identity.id}#trust" class="form">
        ${trouble(trusted, ["principal"])}
        ${line(trusted, {
          name: "principal",
          path: "principal",
          label: "Principal of the workers",
          hint: "The ARN of their role or user. An account's :root trusts every principal of that account that may assume roles, so name the workers' own role if you can.",
          required: true,
        })}
        <p><button class="quiet">Show the policy for it</button></p>
      </form>
      ${
        policy === null
          ? null
          : html`<pre class="log" id="policy" tabindex="0" aria-label="Trust policy">
${JSON.stringify(policy, null, 2)}</pre>
              <p>
                <button type="button" data-copy="policy" hidden>Copy the policy</button>
                <span role="status"></span>
              </p>`
      }
    </section>
    <div class="rare">
      ${row(
        { id: "edit", title: "Change" },
        null,
        html`<form method="post" action="/identities/${identity.id}" class="form">
          ${fields(forms("edit", { name, role_arn: role_arn ?? "", plan_role_arn: planRole ?? "" }))}
          <button class="quiet">Save</button>
        </form>`,
      )}
      ${deleteSection(`/identities/${identity.id}`, "identity", forms("remove"), {
        text: "If you create an identity for the same role later, it gets another external id, and you must change the trust policy of the role.",
        obstacle:
          users.length > 0
            ? html`It cannot be deleted while it is in use. Choose another identity, or none, in the
              settings of the ${users.length === 1 ? "configuration" : "configurations"}
              ${namesInShort(users)} first.`
            : null,
      })}
    </div>
    ${copyScript}`;
};
