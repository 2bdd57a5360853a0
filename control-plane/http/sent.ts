import type { FastifyReply } from "fastify";
import type { Stored } from "../services/storage/stored-content.ts";

/** Returned by such a handler. Not the reply: awaiting it would wait until it is sent. */
export const sent = Symbol("sent");

/** Sends 201, or 200 if the same was stored before. */
export async function sendStored(
  reply: FastifyReply,
  result: Promise<Stored<unknown>>,
): Promise<typeof sent> {
  const { answer, stored } = await result;
  reply.code(stored ? 201 : 200).send(answer);
  return sent;
}
