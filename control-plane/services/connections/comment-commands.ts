/** Commands in comments on pull requests: `windlass plan`, `windlass deploy <commit>`. */
import type { HostComment } from "../../code-hosts/comments.ts";
import { minute } from "../../../common/units.ts";

export interface CommentCommand {
  readonly verb: "plan" | "deploy";
  /** The planned commit, or its beginning. */
  readonly commit?: string | undefined;
  /** The id of the repository, and the number of the pull request. */
  readonly repository: string;
  readonly pull: number;
  /** The account at the host. */
  readonly author: HostComment["author"];
  readonly created_at: number;
}

/** An older comment is no command any more: a host may send its event again, days later. */
const commandAge = 15 * minute;

/** The whole comment is the command, so that a quotation or an explanation is none. */
const form = /^windlass (plan|deploy)(?: ([0-9a-f]{7,64}))?$/;

export function commandIn(
  { event, body, pull, author, created_at }: HostComment,
  repository: string,
  now: number,
): CommentCommand | undefined {
  if (event !== "created" || body.length > 200) return undefined;
  const [, verb, commit] = form.exec(body.trim()) ?? [];
  if (verb === undefined || !isRecent({ created_at }, now)) return undefined;
  return { verb: verb as "plan" | "deploy", commit, repository, pull, author, created_at };
}

/** False, too, if the host did not say when. */
export const isRecent = ({ created_at }: { readonly created_at: number }, now: number): boolean =>
  Math.abs(now - created_at) < commandAge;
