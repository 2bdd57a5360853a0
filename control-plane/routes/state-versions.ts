/** Managed state, as people see it. */
import type { FastifyInstance } from "fastify";
import type { StateVersion } from "../../protocol/state-versions.ts";
import { endpoints } from "../../protocol/endpoints.ts";
import { RefusalError } from "../domain/refusal.ts";
import type { Context } from "../services/context.ts";
import { writeWhole } from "../services/json-text.ts";
import {
  breakStateLock,
  findStateContent,
  listStateVersions,
  rollBackState,
} from "../services/states/versions.ts";
import { sendListOf } from "../http/list.ts";
import { bodilessRoutes, route, sent, type Guards } from "../http/route.ts";

/** Adds the routes of this file. */
export function stateVersionRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
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
