/** Managed state: as terraform's own `http` backend reads and writes it, and as people see it. */
import type { FastifyReply } from "fastify";
import { lockLimit } from "../../protocol/limits.ts";
import type { StateVersion } from "../../protocol/state-versions.ts";
import { RefusalError } from "../domain/refusal.ts";
import { listOf } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import { sendStored, sent } from "../http/sent.ts";
import type { Context } from "../services/context.ts";
import { writeWhole } from "../services/json-text.ts";
import { pushState } from "../services/states/push.ts";
import {
  lockState,
  readState,
  unlockState,
  writeState,
  type LockDocument,
} from "../services/states/states.ts";
import {
  breakStateLock,
  findStateContent,
  findStateLock,
  listStateVersions,
  rollBackState,
} from "../services/states/versions.ts";

export const stateRoutes = (context: Context) =>
  ({ ...backendRoutes(context), ...versionRoutes(context) }) satisfies Partial<Routes>;

/** Terraform defines status codes and bodies (docs/decisions.md, "Managed state"). */
const backendRoutes = (context: Context) =>
  ({
    readState: async ({ caller, reply }) => {
      reply.header("cache-control", "no-store");
      const state = await readState(context, caller);
      if (!state) reply.code(204).send();
      else
        reply
          .headers({
            "content-length": state.size_bytes,
            "content-md5": Buffer.from(state.md5, "hex").toString("base64"),
          })
          .type("application/json")
          .send(await state.read());
      return sent;
    },
    writeState: ({ caller, query, body }) => writeState(context, caller, query.ID, body),
    lockState: async ({ caller, body, reply }) =>
      answerLock(reply, await lockState(context, caller, await readLockDocument(body))),
    unlockState: async ({ caller, body, reply }) =>
      answerLock(reply, await unlockState(context, caller, (await readLockDocument(body)).id)),
  }) satisfies Partial<Routes>;

const versionRoutes = (context: Context) =>
  ({
    listStateVersions: async ({ caller, params, query: { cursor } }) => {
      if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
        throw new RefusalError("invalid_cursor");
      return listOf({
        read: (before, limit) => {
          const serial = before === undefined ? undefined : Number(before);
          return listStateVersions(context, caller, params.name, serial, limit);
        },
        cursorOf: ({ serial }: StateVersion) => String(serial),
        write: writeWhole,
      });
    },
    downloadStateVersion: async ({ caller, params, reply }) => {
      const state = await findStateContent(context, caller, params.name, params.serial);
      reply
        .headers({ "content-length": state.size_bytes, "cache-control": "no-store" })
        .type("application/json")
        .send(await state.read());
      return sent;
    },
    pushState: ({ caller, params, query, body, reply }) =>
      sendStored(reply, pushState(context, caller, params.name, body, query.force ?? false)),
    getStateLock: async ({ caller, params }) => ({
      state_lock: await findStateLock(context, caller, params.name),
    }),
    rollBackState: ({ caller, params }) =>
      rollBackState(context, caller, params.name, params.serial),
    breakStateLock: ({ caller, params }) => breakStateLock(context, caller, params.name),
  }) satisfies Partial<Routes>;

/** 423 carries the holder's document unchanged: terraform shows its ID. */
function answerLock(reply: FastifyReply, holder: string | null): typeof sent {
  if (holder === null) reply.send();
  else reply.code(423).type("application/json").send(holder);
  return sent;
}

/**
 * An empty body is refused: terraform's `force-unlock` sends one whatever ID it was given, so any
 * ID would open the lock. Its user is told "Unexpected HTTP response code 400"; people unlock
 * through the control plane.
 */
async function readLockDocument(body: AsyncIterable<Uint8Array>): Promise<LockDocument> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.byteLength;
    if (size > lockLimit)
      throw new RefusalError("payload_too_large", `the body may have at most ${lockLimit} bytes`);
    parts.push(part);
  }
  const info = Buffer.concat(parts).toString();
  const id = idOf(info);
  if (typeof id !== "string" || id === "" || id.length > 200)
    throw new RefusalError("bad_request", "the body must be terraform's lock document with its ID");
  return { id, info };
}

function idOf(info: string): unknown {
  try {
    return (JSON.parse(info) as { ID?: unknown } | null)?.ID;
  } catch {
    throw new RefusalError(
      "malformed_json",
      "the body must be terraform's lock document with its ID",
    );
  }
}
