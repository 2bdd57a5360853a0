/** The page of the people who operate the server: who is signed in, and the ways to end that. */
import { admissionText } from "../../services/people/admission.ts";
import type { ListedPerson } from "../../services/people/operators.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { clock, count } from "../page/words.ts";

export interface People {
  readonly people: readonly ListedPerson[];
  /** The reader, who cannot block themselves. */
  readonly reader: string;
  /** The part of an address that was searched for. */
  readonly text: string;
  /** Where the list continues; undefined at its end. */
  readonly next: string | undefined;
}

export const operatorPage = ({ people, reader, text, next }: People): Html =>
  html`<h1>People on this server</h1>
    <p class="soft">
      Who is signed in or blocked, the newest user first, and what permits it. Signing a person out
      ends their browser sessions, clients and event streams at once; they can sign in again while
      something permits it. Blocking also refuses their sign-ins and access tokens, until you undo
      it.
    </p>
    <form method="get" action="/operator" class="filters" role="search">
      <label
        >Address
        <input type="search" name="q" value="${text}" autocomplete="off" spellcheck="false"
      /></label>
      <button class="quiet">Find</button>
    </form>
    ${
      people.length === 0
        ? html`<p class="soft">
            No such person. ${text === "" ? null : html`<a href="/operator">Show everyone</a>`}
          </p>`
        : table(
            "People",
            ["Person", "Permitted by", "Signed in", "Newest login", "Change"],
            people.map((one) => [
              one.email,
              one.blocked_at === null
                ? admissionText(one.admission)
                : html`Blocked ${clock(one.blocked_at)}`,
              [
                ...(one.sessions > 0 ? [count(one.sessions, "browser")] : []),
                ...(one.clients > 0 ? [count(one.clients, "client")] : []),
              ].join(", ") || "–",
              one.signed_in_at === null ? "–" : clock(one.signed_in_at),
              changes(one, reader),
            ]),
          )
    }
    ${
      next === undefined
        ? null
        : html`<p>
            <a href="/operator?${text === "" ? "" : `q=${encodeURIComponent(text)}&`}before=${next}"
              >More people</a
            >
          </p>`
    }`;

const changes = (one: ListedPerson, reader: string): Html =>
  html`<div class="actions">
    ${one.sessions + one.clients === 0 ? null : change(one, "sign-out", "Sign out")}
    ${
      one.blocked_at !== null
        ? change(one, "unblock", "Unblock")
        : one.id === reader
          ? null
          : change(one, "block", "Block")
    }
  </div>`;

const change = ({ id, email }: ListedPerson, path: string, label: string): Html =>
  html`<form method="post" action="/operator/people/${id}/${path}">
    <button class="quiet" aria-label="${label} ${email}">${label}</button>
  </form>`;
