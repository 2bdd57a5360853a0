/** The calls that GitHub and Forgejo have alike. */
import { Type } from "typebox";
import type { CodeHost, RepositoryKey } from "./code-host.ts";
import type { HostCalls } from "./host-calls.ts";

/** How many webhooks of a repository are read to find our own. */
const hooksRead = 50;

/** `created`: what a new webhook needs beside its events. */
export function likeGithub(
  calls: HostCalls,
  repo: (repository: RepositoryKey) => string,
  created: object,
  events: readonly string[],
): Pick<CodeHost, "setStatus" | "writeComment" | "mayWrite" | "addWebhook"> {
  return {
    async setStatus(repository, commit, { context, state, description, url }) {
      await calls.ask(`${repo(repository)}/statuses/${commit}`, {
        method: "POST",
        body: { context, state, description, target_url: url },
      });
    },

    async writeComment(repository, number, body, id) {
      const [method, path] =
        id === null
          ? (["POST", `/issues/${number}/comments`] as const)
          : (["PATCH", `/issues/comments/${encodeURIComponent(id)}`] as const);
      const answer = await calls.ask(repo(repository) + path, {
        method,
        body: { body },
        also: id === null ? [] : [404],
      });
      if (answer.status === 404) return null;
      return String((JSON.parse(answer.text) as { id: unknown }).id);
    },

    async mayWrite(repository, account) {
      const answer = await calls.ask(
        `${repo(repository)}/collaborators/${encodeURIComponent(account)}/permission`,
        { also: [404] },
      );
      if (answer.status === 404) return false;
      const { permission } = JSON.parse(answer.text) as { permission?: unknown };
      return permission === "write" || permission === "admin" || permission === "owner";
    },

    async addWebhook(repository, url, secret) {
      const hooks = await calls.get(
        `${repo(repository)}/hooks?per_page=${hooksRead}&limit=${hooksRead}`,
        Type.Array(
          Type.Object({
            id: Type.Integer(),
            config: Type.Object({ url: Type.Optional(Type.String()) }),
          }),
        ),
      );
      const own = hooks.find(({ config }) => config.url === url);
      await calls.ask(`${repo(repository)}/hooks${own ? `/${own.id}` : ""}`, {
        method: own ? "PATCH" : "POST",
        body: {
          ...(own ? {} : created),
          active: true,
          events,
          config: { url, content_type: "json", secret },
        },
      });
    },
  };
}
