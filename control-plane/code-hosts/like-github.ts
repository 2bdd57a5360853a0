/** The calls that GitHub and Forgejo have alike. */
import { Type } from "typebox";
import type { CodeHost, RepositoryKey } from "./code-host.ts";
import type { HostCalls } from "./host-calls.ts";

/** How many webhooks of a repository are read to find our own. */
const hooksRead = 50;

/** `size`: the parameter for it; `created`: what a new webhook needs beside its events. */
export function likeGithub(
  calls: HostCalls,
  repo: (repository: RepositoryKey) => string,
  size: string,
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
      const written = await calls.find(
        repo(repository) + path,
        Type.Object({ id: Type.Integer() }),
        {
          method,
          body: { body },
          absent: id === null ? [] : [404],
        },
      );
      return written && String(written.id);
    },

    async mayWrite(repository, account) {
      const found = await calls.find(
        `${repo(repository)}/collaborators/${encodeURIComponent(account)}/permission`,
        Type.Object({ permission: Type.String() }),
      );
      return found !== null && ["write", "admin", "owner"].includes(found.permission);
    },

    async addWebhook(repository, url, secret) {
      const hooks = await calls.get(
        `${repo(repository)}/hooks?${size}=${hooksRead}`,
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
