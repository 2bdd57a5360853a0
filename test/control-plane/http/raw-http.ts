/** Sends bytes over a connection that a client library would not send. */
import { connect } from "node:net";
import type { Plane } from "../../helpers/plane/plane.ts";

export interface RawResponse {
  /** 0: closed without a response. */
  readonly status: number;
  readonly text: string;
  /** The body of the last response as JSON; undefined if it is not JSON. */
  readonly problem: { readonly code?: string; readonly request_id?: string } | undefined;
  readonly milliseconds: number;
}

/**
 * Sends the pieces, one every `every` milliseconds, and reads until the server closes the
 * connection or `patience` is over.
 */
export function sendRaw(
  { url }: Plane,
  pieces: readonly (string | Buffer)[],
  { every = 0, patience = 2000 } = {},
): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const began = performance.now();
  return new Promise((resolve) => {
    let text = "";
    const left = [...pieces];
    const sendNext = () => {
      const piece = left.shift();
      if (piece === undefined || socket.destroyed) return clearInterval(timer);
      socket.write(piece);
    };
    const socket = connect(Number(port), hostname, sendNext);
    const timer = setInterval(sendNext, every);
    const end = setTimeout(() => socket.destroy(), patience);
    socket.on("data", (data) => (text += data.toString("latin1")));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      clearInterval(timer);
      clearTimeout(end);
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
      const milliseconds = performance.now() - began;
      resolve({ status, text, problem: jsonOf(text.split("\r\n\r\n").at(-1) ?? ""), milliseconds });
    });
  });
}

function jsonOf(text: string): { code?: string } | undefined {
  try {
    return JSON.parse(text) as { code?: string };
  } catch {
    return undefined;
  }
}
