/** Bytes on a connection, where a client library would not send them. */
import { connect } from "node:net";
import type { Plane } from "./plane.ts";

export interface Heard {
  /** 0: closed without an answer. */
  readonly status: number;
  readonly text: string;
  /** The last answer's body as JSON; undefined when it is none. */
  readonly problem: { readonly code?: string; readonly request_id?: string } | undefined;
  readonly milliseconds: number;
}

/** Says the pieces, one every `every` milliseconds, and listens until the server closes or `patience` is over. */
export function speak(
  { url }: Plane,
  pieces: readonly (string | Buffer)[],
  { every = 0, patience = 2000 } = {},
): Promise<Heard> {
  const { hostname, port } = new URL(url);
  const began = performance.now();
  return new Promise((resolve) => {
    let text = "";
    const left = [...pieces];
    const say = () => {
      const piece = left.shift();
      if (piece === undefined || socket.destroyed) return clearInterval(timer);
      socket.write(piece);
    };
    const socket = connect(Number(port), hostname, say);
    const timer = setInterval(say, every);
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
