/**
 * Agent and listener exchange JSON, one message a line, over a Unix socket that no sandbox
 * contains.
 */
import type { Socket } from "node:net";
import { join } from "node:path";
import type { SessionCredentials } from "./assume-role.ts";

/** A token of the job itself, which the control plane has signed. */
export interface IdentityToken {
  readonly token: string;
  readonly audience: string;
  /** For how many milliseconds from now it is valid. */
  readonly life: number;
}

/** What a job gets at its port: credentials of a role, or the job's own token. */
export type Handout = SessionCredentials | IdentityToken;

/** The listener's directory. It works there, so that its socket has a short path. */
export const listenerFolder = (workDir: string): string => join(workDir, "credentials");
export const socketName = "socket";
/** The file with the identity of the listener process. */
export const identityName = "process.json";

/** From the agent. `job` is the id of a job, `n` the number of the reply. */
export type Order =
  /** Reply: whether the listener has held this address of the job without a gap. */
  | {
      readonly do: "adopt";
      readonly n: number;
      readonly job: string;
      readonly port: number;
      readonly token: string;
    }
  /** Opens this port, or a free one, and replies with it. Without a token, requests are refused. */
  | {
      readonly do: "open";
      readonly n: number;
      readonly job: string;
      readonly runs: string;
      readonly port?: number;
      readonly token?: string;
    }
  | { readonly do: "give"; readonly job: string; readonly credentials: Handout }
  | { readonly do: "fail"; readonly job: string; readonly message: string }
  /** The agent no longer needs the job's ports. They close when no command of the job runs. */
  | { readonly do: "release"; readonly job: string }
  | { readonly do: "ping"; readonly n: number };

export interface Reply {
  readonly n: number;
  readonly value?: number | boolean;
  readonly error?: string;
}

/** From the listener. */
export type Word =
  | Reply
  /** The credentials of this job have expired: the agent gives new ones, or says why it cannot. */
  | { readonly renew: string };

export function tell(socket: Socket, message: Order | Word): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

/** Calls `take` with each message. A last one that a kill has cut short is dropped. */
export function hear(socket: Socket, take: (message: unknown) => void): void {
  let rest = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(JSON.parse(line));
  });
}
