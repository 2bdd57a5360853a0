import type { Connection } from "../../../protocol/connections.ts";
import type { RepositoryList } from "../../../protocol/repositories.ts";
import { time } from "../../domain/moments.ts";
import type { UserCaller } from "../../services/callers.ts";
import { listFollowers } from "../../services/connections/attention.ts";
import {
  createConnection,
  deleteConnection,
  getConnection,
  listConnections,
  rotateSecret,
  updateConnection,
} from "../../services/connections/connections.ts";
import { addWebhook, checkConnection, listRepositories } from "../../services/connections/hosts.ts";
import type { Context } from "../../services/context.ts";
import { attempt, Form, newForm, type FormsOf } from "../page/form.ts";
import { idIn, readList } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { changeFrom, createdFrom, withoutSecrets } from "./connection-input.ts";
import {
  connectionPage,
  editedFields,
  repositoriesPage,
  type ConnectionViewModel,
} from "./connection-page.ts";
import { connectionsPage, newConnectionPage } from "./connections-page.ts";

const shown = 100;
const mostFollowers = 1000;
const repositoriesShown = 50;
/** How often an open page is redrawn, in seconds. */
const refresh = 10;

const frame = { at: "/connections" };

export function connectionPages(pages: SignedIn, context: Context): void {
  const now = () => time(context.now());
  const find = (caller: UserCaller, params: unknown) =>
    getConnection(context, caller, idIn(params, "connection"));

  pages.page("/connections", "listConnections", {
    draw: async (_, { caller, request }) => {
      const found = await readList(request.query, shown, (before, limit) =>
        listConnections(context, caller, before, limit),
      );
      return { ...frame, refresh, title: "Connections", body: connectionsPage(found, now()) };
    },
  });

  const drawn = async (
    connection: Connection,
    caller: UserCaller,
    forms: FormsOf,
    done: ConnectionViewModel["done"] = {},
  ) => {
    const followers = await listFollowers(context, caller, connection.id, mostFollowers);
    const body = connectionPage({ connection, followers, done, now: now() }, forms);
    return { ...frame, title: connection.name, body };
  };

  pages
    .page("/connections/new", "createConnection", {
      draw: async (_, { forms }) => ({
        ...frame,
        title: "New connection",
        body: newConnectionPage(forms("create", { kind: "github" })),
      }),
    })
    .form("create", "createConnection", {
      input: createdFrom,
      again: withoutSecrets,
      submit: async ({ caller, input }) => {
        const { webhook_secret, ...made } = await createConnection(context, caller, input());
        return drawn(made, caller, newForm, { webhook_secret });
      },
    });

  pages
    .page("/connections/:id", "getConnection", {
      find,
      draw: async (connection, { caller, forms }) => ({
        ...(await drawn(connection, caller, forms)),
        refresh,
      }),
    })
    .form("check", "checkConnection", {
      path: "/check",
      submit: async ({ caller, thing: { id } }) => {
        const check = await checkConnection(context, caller, id);
        return drawn(await getConnection(context, caller, id), caller, newForm, { check });
      },
    })
    .form("webhook", "addConnectionWebhook", {
      path: "/webhooks",
      input: (form) => ({ repository: form.word("repository") }),
      submit: async ({ caller, thing, input }) => {
        const { repository: registered } = input();
        await addWebhook(context, caller, thing.id, registered);
        return drawn(thing, caller, newForm, { registered });
      },
    })
    .form("edit", "updateConnection", {
      seen: editedFields,
      input: (form, { kind }) => changeFrom(form, kind),
      again: withoutSecrets,
      submit: async ({ caller, thing: { id }, input }) => {
        await updateConnection(context, caller, id, input());
        return `/connections/${id}`;
      },
    })
    .form("rotate", "rotateConnectionSecret", {
      path: "/rotate",
      input: (form) => ({ overlap_seconds: Number(form.word("overlap_seconds") || Number.NaN) }),
      submit: async ({ caller, thing, input }) =>
        drawn(thing, caller, newForm, await rotateSecret(context, caller, thing.id, input())),
    })
    .form("remove", "deleteConnection", {
      path: "/delete",
      submit: async ({ caller, thing: { id } }) => {
        await deleteConnection(context, caller, id);
        return "/connections";
      },
    });

  pages.page("/connections/:id/repositories", "listConnectionRepositories", {
    find,
    draw: async (connection, { caller, request }) => {
      const { cursor } = request.query as { cursor?: unknown };
      const page = {
        limit: repositoriesShown,
        ...(typeof cursor === "string" ? { cursor } : {}),
      };
      let found: RepositoryList = { repositories: [], next_cursor: null };
      const refused = await attempt({}, async () => {
        found = await listRepositories(context, caller, connection.id, page);
      });
      const form = refused ?? new Form();
      const body = repositoriesPage(connection, found, form);
      const title = `Repositories of ${connection.name}`;
      return { ...frame, title, body, status: form.status };
    },
  });
}
