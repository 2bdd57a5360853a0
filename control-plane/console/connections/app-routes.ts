/** Making an App at GitHub: a form here, one there, and back with a code that is exchanged once. */
import { randomBytes } from "node:crypto";
import { equalSecrets } from "../../../common/equal-secrets.ts";
import type { Connection } from "../../../protocol/connections.ts";
import { invalid, RefusalError } from "../../domain/refusal.ts";
import { appFlow } from "../../http/flow-cookie.ts";
import { getConnection } from "../../services/connections/connections.ts";
import { appManifest, checkIsApp, keepApp } from "../../services/connections/github-app.ts";
import type { Context } from "../../services/context.ts";
import { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { idIn } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";

export function appPages(pages: SignedIn, context: Context): void {
  pages.post("/connections/:id/app", "updateConnection", async (caller, request, reply) => {
    const connection = await getConnection(context, caller, idIn(request.params, "connection"));
    checkIsApp(connection);
    const organization = new Form(request.body).word("organization");
    if (!/^[A-Za-z0-9-]{0,39}$/.test(organization))
      throw invalid("organization", "must be the name of an organization");
    const state = randomBytes(24).toString("base64url");
    appFlow.set(context, reply, { state, user: caller.user_id, connection: connection.id });
    const account = organization === "" ? "" : `/organizations/${organization}`;
    const address = `${connection.base_url}${account}/settings/apps/new?state=${state}`;
    return {
      at: "/connections",
      title: "Create the App at GitHub",
      formsTo: new URL(connection.base_url).origin,
      body: manifestForm(connection, address, JSON.stringify(appManifest(context, connection))),
    };
  });

  pages.get("/connections/:id/app", "updateConnection", async (caller, request, reply) => {
    const id = idIn(request.params, "connection");
    const { code, state } = request.query as Record<string, unknown>;
    const flow = appFlow.find(context, request);
    appFlow.clear(context, reply);
    // Another person, or another site, must not give the connection an App of their own.
    const isOwn =
      typeof state === "string" &&
      flow !== undefined &&
      equalSecrets(state, flow.state) &&
      flow.user === caller.user_id &&
      flow.connection === id;
    if (!isOwn || typeof code !== "string" || !/^[\w-]{1,200}$/.test(code))
      throw new RefusalError(
        "invalid_request",
        "this browser did not begin to create this App, or more than ten minutes ago: begin again on the page of the connection",
      );
    // The address has a code.
    reply.header("referrer-policy", "no-referrer");
    return keepApp(context, caller, id, code);
  });
}

const manifestForm = ({ id, name }: Connection, address: string, manifest: string): Html =>
  html`<nav class="trail" aria-label="Above">
      <a href="/connections">Connections</a> / <a href="/connections/${id}">${name}</a>
    </nav>
    <h1>Create the App at GitHub</h1>
    <p>
      GitHub shows the name of the App, which you may change, and makes it with the permissions that
      Windlass needs. Then choose the repositories for which it is installed.
    </p>
    <form method="post" action="${address}">
      <input type="hidden" name="manifest" value="${manifest}" />
      <button>Continue at GitHub</button>
    </form>`;
