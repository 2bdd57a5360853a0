import type { CloudIdentity, TrustPolicy } from "../../../protocol/cloud-identities.ts";
import type { Configuration } from "../../../protocol/configurations.ts";
import { planPrincipalOf, principalOf } from "../../../protocol/identity-kinds.ts";
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
import { fieldsOf, fieldsToChoose, nameField, paths, providerWords } from "./identity-fields.ts";

export const identitiesPage = (
  { items: identities, next }: ListPage<CloudIdentity>,
  form: Form,
): Html =>
  html`<h1>Cloud identities</h1>
    <p class="soft">
      What jobs act as in your cloud or at Vault while they run. No key is stored here or on a
      worker.
    </p>
    ${
      identities.length === 0
        ? empty({
            icon: "key-round",
            title: "No identity yet",
            text: "Name what terraform should act as. The page of the identity then shows what lets the cloud trust it.",
          })
        : table(
            "Cloud identities",
            ["Name", "Provider", "Acts as", "Created"],
            identities.map((identity) => [
              html`<a href="/identities/${identity.id}">${identity.name}</a>`,
              providerWords[identity.provider].name,
              principalOf(identity) === "" ? "itself" : html`<code>${principalOf(identity)}</code>`,
              clock(identity.created_at),
            ]),
          )
    }
    ${olderLink("/identities", next, "identities")}
    <section aria-labelledby="create">
      <h2 id="create">New identity</h2>
      <form method="post" action="/identities" class="form by-provider">
        ${trouble(form, paths)} ${nameField(form)} ${fieldsToChoose(form)}
        <p><button>Create the identity</button></p>
      </form>
    </section>`;

export interface IdentityViewModel {
  readonly identity: CloudIdentity;
  readonly users: readonly Pick<Configuration, "id" | "name">[];
  /** Null until a principal to trust is named, and for tokens. */
  readonly policy: TrustPolicy | null;
  /** Of an identity whose jobs get tokens; null for another one. */
  readonly terraform: string | null;
  /** The form that names the principal. */
  readonly trusted: Form;
}

export const identityPage = (model: IdentityViewModel, forms: FormsOf): Html => {
  const { identity, users, terraform } = model;
  const { name, provider } = identity;
  return html`<nav class="trail" aria-label="Above"><a href="/identities">Identities</a></nav>
    <h1>${name}</h1>
    <dl class="facts">
      <dt>Provider</dt>
      <dd>${providerWords[provider].name}</dd>
      ${facts(identity)}
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
    ${terraform === null ? policySection(model) : terraformSection(terraform)}
    <div class="rare">
      ${row(
        { id: "edit", title: "Change" },
        null,
        html`<form method="post" action="/identities/${identity.id}" class="form">
          ${editFields(forms("edit", shownIn(identity)), identity)}
          <button class="quiet">Save</button>
        </form>`,
      )}
      ${deleteSection(`/identities/${identity.id}`, "identity", forms("remove"), {
        text:
          provider === "aws"
            ? "If you create an identity for the same role later, it gets another external id, and you must change the trust policy of the role."
            : "The cloud goes on trusting the tokens of the configurations until you change it there.",
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

const editFields = (form: Form, { provider }: CloudIdentity): Html =>
  html`${trouble(form, paths)} ${nameField(form)} ${fieldsOf(form, provider)}`;

/** The values of the form, as it first shows them. */
const shownIn = ({ session_tags, ...identity }: CloudIdentity): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(identity).map(([name, value]) => [name, value ?? ""])),
  session_tags: session_tags ? "on" : "",
});

const facts = (identity: CloudIdentity): Html => {
  const shown: Readonly<Record<string, string | null | undefined>> = {
    "Acts as": principalOf(identity) || "itself",
    "Plans act as": planPrincipalOf(identity),
    "External id": identity.external_id,
    "Identity provider": identity.workload_identity_provider,
    Tenant: identity.tenant_id,
    Subscription: identity.subscription_id,
    Address: identity.address,
    Mount: identity.mount,
    Namespace: identity.namespace,
    Authorities: identity.ca && "of its own",
    Audience: identity.audience,
    "Subject names": identity.subject,
    "Session tags": identity.session_tags ? "sent" : undefined,
  };
  return html`${Object.entries(shown).map(([name, value]) =>
    value
      ? html`<dt>${name}</dt>
          <dd><code>${value}</code></dd>`
      : null,
  )}`;
};

const terraformSection = (terraform: string): Html =>
  html`<section aria-labelledby="trust">
    <h2 id="trust">Trust</h2>
    <p>
      Terraform with which the cloud trusts the tokens that this server makes for the configurations
      of this identity. Read it before you apply it: what it creates may exist already.
    </p>
    <pre class="log" id="policy" tabindex="0" aria-label="Terraform">${terraform}</pre>
    <p>
      <button type="button" data-copy="policy" hidden>Copy the terraform</button>
      <span role="status"></span>
    </p>
  </section>`;

const policySection = ({ identity, policy, trusted }: IdentityViewModel): Html =>
  html`<section aria-labelledby="trust">
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
  </section>`;
