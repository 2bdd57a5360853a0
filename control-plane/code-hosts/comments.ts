/** What webhooks say of comments on pull requests. */
import { Type } from "typebox";
import { Value } from "typebox/value";
import { OneOf } from "../../protocol/fields.ts";
import type { Kind } from "./kinds.ts";

export interface HostComment {
  readonly id: string;
  /** The number of the pull request. */
  readonly pull: number;
  readonly event: "created" | "deleted";
  /** Who wrote it. `name`: what `mayWrite` takes. */
  readonly author: { readonly id: string; readonly name: string };
  readonly body: string;
  /** Epoch milliseconds; NaN: the host did not say. */
  readonly created_at: number;
}

const GithubComment = Type.Object({
  action: OneOf(["created", "deleted"]),
  is_pull: Type.Optional(Type.Boolean()),
  issue: Type.Object({
    number: Type.Integer(),
    pull_request: Type.Optional(Type.Unknown()),
  }),
  comment: Type.Object({
    id: Type.Integer(),
    body: Type.String(),
    created_at: Type.String(),
    user: Type.Object({ id: Type.Integer(), login: Type.String() }),
    /** GitHub's; Gitea does not say it. */
    author_association: Type.Optional(Type.String()),
  }),
});

/** Others may not write to the repository: their comments cost no calls. */
const associated: ReadonlySet<string> = new Set(["OWNER", "MEMBER", "COLLABORATOR"]);

/** GitHub marks the issue of a pull request, Gitea the event. */
const ofGithub = (payload: unknown): HostComment | undefined => {
  if (!Value.Check(GithubComment, payload)) return undefined;
  const { action, issue, comment, is_pull = Boolean(issue.pull_request) } = payload;
  if (!is_pull) return undefined;
  const { id, user, created_at, author_association: association = "OWNER" } = comment;
  const body = associated.has(association) ? comment.body : "";
  return {
    id: String(id),
    pull: issue.number,
    event: action,
    author: { id: String(user.id), name: user.login },
    body,
    created_at: Date.parse(created_at),
  };
};

const GitlabNote = Type.Object({
  object_kind: Type.Literal("note"),
  user: Type.Object({ id: Type.Integer(), username: Type.String() }),
  merge_request: Type.Object({ iid: Type.Integer() }),
  object_attributes: Type.Object({
    id: Type.Integer(),
    note: Type.String(),
    created_at: Type.String(),
    author_id: Type.Integer(),
    /** Older servers do not say it. */
    action: Type.Optional(Type.String()),
  }),
});

const ofGitlab = (payload: unknown): HostComment | undefined => {
  if (!Value.Check(GitlabNote, payload)) return undefined;
  const { user, merge_request, object_attributes: note } = payload;
  // An edit is none, and neither is what another person edits.
  if ((note.action ?? "create") !== "create" || note.author_id !== user.id) return undefined;
  return {
    id: String(note.id),
    pull: merge_request.iid,
    event: "created",
    author: { id: String(user.id), name: user.username },
    body: note.note,
    created_at: Date.parse(note.created_at),
  };
};

const BitbucketComment = Type.Object({
  actor: Type.Object({ uuid: Type.String() }),
  pullrequest: Type.Object({ id: Type.Integer() }),
  comment: Type.Object({
    id: Type.Integer(),
    deleted: Type.Optional(Type.Boolean()),
    content: Type.Object({ raw: Type.String() }),
    created_on: Type.String(),
    user: Type.Union([Type.Object({ uuid: Type.String() }), Type.Null()]),
  }),
});

const ofBitbucket = (payload: unknown): HostComment | undefined => {
  if (!Value.Check(BitbucketComment, payload)) return undefined;
  const { actor, pullrequest, comment } = payload;
  const isDeleted = comment.deleted === true;
  if (!isDeleted && comment.user?.uuid !== actor.uuid) return undefined;
  return {
    id: String(comment.id),
    pull: pullrequest.id,
    event: isDeleted ? "deleted" : "created",
    author: { id: actor.uuid, name: actor.uuid },
    body: comment.content.raw,
    created_at: Date.parse(comment.created_on),
  };
};

/** A comment that a payload is about; undefined: it is about something else. */
export const commentIn: Readonly<Record<Kind, (payload: unknown) => HostComment | undefined>> = {
  github_app: ofGithub,
  github: ofGithub,
  forgejo: ofGithub,
  gitlab: ofGitlab,
  bitbucket: ofBitbucket,
};
