import { RefusalError } from "../../domain/refusal.ts";
import { time } from "../../domain/moments.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import {
  approvePullRequest,
  getPullRequest,
  listPullRequests,
} from "../../services/pull-requests/pull-requests.ts";
import { idIn, readList } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { pullRequestPage, pullRequestsPage, readFilter } from "./pull-requests-page.ts";

const shown = 25;
/** How often an open page is redrawn, in seconds. */
const refresh = 5;

const frame = { at: "/pull-requests", refresh };

export function pullRequestPages(pages: SignedIn, context: Context): void {
  pages.page("/pull-requests", "listPullRequests", {
    draw: async (_, { caller, request: { query } }) => {
      const filter = readFilter(query);
      const found = await readList(query, shown, (before, limit) =>
        listPullRequests(context, caller, filter, before, limit, { digests: false }),
      ).catch((error: unknown) => {
        // There is no such configuration.
        if (error instanceof RefusalError && error.code === "not_found") return noneFound;
        throw error;
      });
      const body = pullRequestsPage(found, filter, time(context.now()));
      return { ...frame, title: "Pull requests", body };
    },
  });

  pages
    .page("/pull-requests/:id", "listPullRequests", {
      find: (caller: UserCaller, params) =>
        getPullRequest(context, caller, idIn(params, "pull request")),
      draw: async (pull, { forms }) => {
        const body = pullRequestPage(pull, forms("approve"), time(context.now()));
        return { ...frame, title: `${pull.repository}#${pull.number}`, body };
      },
    })
    .form("approve", "approvePullRequest", {
      path: "/approve",
      input: (form) => ({ commit: form.word("commit") }),
      submit: async ({ caller, thing: { id }, input }) => {
        await approvePullRequest(context, caller, id, input().commit);
        return `/pull-requests/${id}`;
      },
    });
}

const noneFound = { items: [], next: undefined };
