/** An event is only a hint to look at a repository. */
import type { IncomingHttpHeaders } from "node:http";
import { eventBytesLimit } from "../../../protocol/connections.ts";
import { hour, second } from "../../../common/units.ts";
import { commentIn } from "../../code-hosts/comments.ts";
import { eventKinds } from "../../code-hosts/kinds.ts";
import { hashToken } from "../../domain/tokens.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import {
  deleteEvents,
  findAnyConnection,
  insertEvent,
  updateConnection,
  type ConnectionRow,
} from "../../store/connections/connections.ts";
import { findFollowed, forgetComment, hintLook } from "../../store/connections/follows.ts";
import { setPusher } from "../../store/connections/polls.ts";
import type { Context } from "../context.ts";
import { wholeBody } from "../whole-body.ts";
import { networkOf, refusalLimits, wrongSecretsLimit } from "../refusal-limit.ts";
import { commandIn } from "./comment-commands.ts";
import { openSecrets, webhookSecrets } from "./secrets.ts";

/** No host repeats a delivery after that. */
const rememberedMilliseconds = 72 * hour;

/** Of one connection in a minute; what is refused, a look finds. */
const eventsLimit = 600;
const events = refusalLimits(eventsLimit);

/** Milliseconds between two looks that events start. */
const lookGap = 3 * second;

/** For a connection and an address: a host sends the events of all its users from few. */
const wrongSignatures = refusalLimits(wrongSecretsLimit);

/** POST /api/events/{id}. Throws `invalid_signature` for an event that the host did not sign. */
export async function receiveEvent(
  context: Context,
  id: string,
  { headers, address }: { readonly headers: IncomingHttpHeaders; readonly address: string },
  body: AsyncIterable<Uint8Array>,
): Promise<void> {
  const limit = wrongSignatures.of(`${id} ${networkOf(address)}`);
  limit.check();
  const row = await context.store.read.first(findAnyConnection, { id });
  if (!row) {
    limit.count();
    throw notFound("connection");
  }
  const content = await wholeBody(body, eventBytesLimit);
  const kind = eventKinds[row.kind];
  const secrets = webhookSecrets(openSecrets(context, row), context.now());
  if (!kind.isSigned(headers, content, secrets)) {
    limit.count();
    throw new RefusalError("invalid_signature");
  }
  const rate = events.of(id);
  rate.check();
  rate.count();
  const payload = jsonOf(content);
  const at = context.now();
  // What a host sends without an id is known again by its content.
  const delivery_id = (kind.deliveryOf(headers) ?? hashToken(content.toString())).slice(0, 200);
  const key = { connection: row.id, repository: kind.repositoryIn(payload) ?? "" };
  const isFollowed = (await context.store.read.first(findFollowed, key)) !== undefined;
  const comment = commentIn[row.kind](payload);
  const command = isFollowed && comment ? commandIn(comment, key.repository, at) : undefined;
  // Who pushed is not told by the poller's calls, and says whose approval does not count.
  const { commit = null, account = null } = (isFollowed && kind.pushIn?.(payload)) || {};
  await context.store.write(async (tx) => {
    const event = { connection_id: row.id, delivery_id, received_at: at };
    const told = { commit_id: commit, account_id: account };
    const stored = { ...event, ...told, command: command ? JSON.stringify(command) : null };
    if (!(await insertEvent(tx, stored))) return;
    await updateConnection(tx, row.id, { last_event_at: at });
    if (isFollowed && (command || !comment))
      await hintLook(tx, row.id, nextLook(row, at), key.repository);
    if (commit !== null && account !== null)
      await tx.run(setPusher, { connection: row.id, commit, account });
    if (isFollowed && comment?.event === "deleted")
      await tx.run(forgetComment, { ...key, comment: comment.id, now: at });
  });
}

/** Many events start few looks: each look finds everything that has changed. */
const nextLook = ({ last_poll_at }: ConnectionRow, now: number): number =>
  Math.max(now, (last_poll_at ?? 0) + lookGap);

function jsonOf(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString());
  } catch {
    return undefined;
  }
}

export const forgetEvents = ({ store, now }: Context): Promise<void> =>
  store.write((tx) => deleteEvents(tx, now() - rememberedMilliseconds));
