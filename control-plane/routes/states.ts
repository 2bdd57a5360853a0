/** Managed state: as terraform's own `http` backend reads and writes it, and as people see it. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { RefusalError } from "../domain/refusal.ts";
import type { Context } from "../services/context.ts";
import {
  lockState,
  readState,
  unlockState,
  writeState,
  type LockDocument,
} from "../services/states/states.ts";
import { pushState } from "../services/states/push.ts";
import { bytesOf } from "../http/bytes.ts";
import {
  breakStateLock,
  findStateLock,
  findStateContent,
  listStateVersions,
  rollBackState,
} from "../services/states/versions.ts";
import type { StateVersion } from "../../protocol/state-versions.ts";
import { writeWhole } from "../services/json-text.ts";
import { sendListOf } from "../http/list.ts";
import { bodilessRoutes, bytesRoutes, route, sent, type Guards } from "../http/route.ts";

export function stateRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  backendRoutes(app, context, guards);
  versionRoutes(app, context, guards);
}

/**
 * Terraform defines the status codes and the bodies of these (docs/decisions.md, "Managed state").
 */
function backendRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  const { readState: get, writeState: post, lockState: lock, unlockState: unlock } = endpoints;

  route(app, get, guards, async ({ caller, reply }) => {
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
  });

  bytesRoutes(app, (bytes) => {
    route(bytes, post, guards, async ({ caller, query, request, reply }) => {
      await writeState(context, caller, query.ID, bytesOf(request, post.bodyLimit));
      reply.send();
      return sent;
    });

    route(bytes, lock, guards, async ({ caller, request, reply }) => {
      const document = await readLockDocument(bytesOf(request, lock.bodyLimit), lock.bodyLimit);
      return answerLock(reply, await lockState(context, caller, document));
    });

    route(bytes, unlock, guards, async ({ caller, request, reply }) => {
      const document = await readLockDocument(bytesOf(request, unlock.bodyLimit), unlock.bodyLimit);
      return answerLock(reply, await unlockState(context, caller, document.id));
    });
  });
}

function versionRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.listStateVersions, guards, async ({ caller, params, query, reply }) => {
    if (query.cursor !== undefined && !/^\d{1,15}$/.test(query.cursor))
      throw new RefusalError("invalid_cursor");
    return sendListOf(reply, "state_versions", query, {
      read: (before, limit) =>
        listStateVersions(
          context,
          caller,
          params.name,
          before === undefined ? undefined : Number(before),
          limit,
        ),
      cursorOf: ({ serial }: StateVersion) => String(serial),
      write: writeWhole,
    });
  });
  route(app, endpoints.downloadStateVersion, guards, async ({ caller, params, reply }) => {
    const state = await findStateContent(context, caller, params.name, params.serial);
    reply
      .headers({ "content-length": state.size_bytes, "cache-control": "no-store" })
      .type("application/json")
      .send(await state.read());
    return sent;
  });
  bytesRoutes(app, (bytes) => {
    const { pushState: push } = endpoints;
    route(bytes, push, guards, async ({ caller, params, query, request, reply }) => {
      const body = bytesOf(request, push.bodyLimit);
      const { version, isNew } = await pushState(
        context,
        caller,
        params.name,
        body,
        query.force ?? false,
      );
      reply.code(isNew ? 201 : 200).send(version);
      return sent;
    });
  });
  route(app, endpoints.getStateLock, guards, async ({ caller, params }) => ({
    state_lock: await findStateLock(context, caller, params.name),
  }));
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.rollBackState, guards, async ({ caller, params }) =>
      rollBackState(context, caller, params.name, params.serial),
    );
    route(bodiless, endpoints.breakStateLock, guards, async ({ caller, params }) => {
      await breakStateLock(context, caller, params.name);
      return undefined;
    });
  });
}

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
async function readLockDocument(
  body: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<LockDocument> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.byteLength;
    if (size > limit)
      throw new RefusalError("payload_too_large", `the body may have at most ${limit} bytes`);
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
