/** The pages of resource graphs. */
import { validate } from "uuid";
import { notFound } from "../../domain/refusal.ts";
import { getConfiguration } from "../../services/configurations/configurations.ts";
import type { Context } from "../../services/context.ts";
import { drawState } from "../../services/graphs/graphs.ts";
import { html } from "../page/html.ts";
import { sendPage } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";
import { choiceOf, graphView } from "./graph-page.ts";

/** Adds them. */
export function graphPages(signedIn: SignedIn, context: Context): void {
  signedIn("GET", "/configurations/:id/graph", async (caller, { params, query }, reply) => {
    const { id } = params as { id: string };
    if (!validate(id)) throw notFound("configuration");
    const { name } = await getConfiguration(context, caller, id);
    const { serial, graph } = await drawState(context, caller, id, choiceOf(query));
    const title = `Resources of ${name}`;
    const body = html`<nav class="trail" aria-label="Above">
        <a href="/configurations/${id}">${name}</a>
      </nav>
      <h1>${title}</h1>
      ${serial === null ? null : html`<p class="soft">From the state with serial ${String(serial)}</p>`}
      ${graphView(graph, title, `/configurations/${id}/graph`)}`;
    sendPage(reply, { email: caller.email, at: "/zones", title, body });
  });
}
