/** What a handler returns that has sent the reply itself. */
import type { FastifyReply } from "fastify";

/** Not the reply: awaiting it would wait until it is sent. */
export const sent = Symbol("sent");

/** Sends 201, or 200 if the same was stored before. */
export async function sendStored(
  reply: FastifyReply,
  result: Promise<Stored>,
): Promise<typeof sent> {
  const { answer, stored } = await result;
  reply.code(stored ? 201 : 200).send(answer);
  return sent;
}

interface Stored {
  readonly answer: unknown;
  readonly stored: boolean;
}
