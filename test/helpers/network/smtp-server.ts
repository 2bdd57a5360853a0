/** A mail server that keeps what it gets, and fails as told. */
import { createServer, type Socket } from "node:net";
import { listen } from "./listen.ts";

export interface SmtpOptions {
  /** Lines of its reply to EHLO, such as `AUTH PLAIN`. */
  readonly offers?: readonly string[];
  /** Replies by the beginning of a command; null: none comes. */
  readonly replies?: Readonly<Record<string, string | null>>;
}

export async function smtpServer({ offers = [], replies = {} }: SmtpOptions = {}) {
  const commands: string[] = [];
  const mails: string[] = [];
  const serve = (socket: Socket): void => {
    let data: string | undefined;
    let rest = "";
    socket.setEncoding("utf8");
    socket.on("error", () => socket.destroy());
    socket.write("220 test ESMTP\r\n");
    socket.on("data", (text: string) => {
      rest += text;
      for (let end = rest.indexOf("\r\n"); end >= 0; end = rest.indexOf("\r\n")) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        if (data !== undefined) {
          if (line === ".") {
            mails.push(data);
            data = undefined;
            socket.write("250 2.0.0 queued\r\n");
          } else data += `${line}\r\n`;
          continue;
        }
        commands.push(line);
        const own = Object.keys(replies).find((start) => line.startsWith(start));
        const reply = own === undefined ? usual(line) : replies[own];
        if (line === "DATA" && own === undefined) data = "";
        if (reply !== null) socket.write(`${reply}\r\n`);
      }
    });
  };
  const usual = (line: string): string => {
    if (line.startsWith("EHLO"))
      return ["test", ...offers]
        .map((word, index, { length }) => `250${index === length - 1 ? " " : "-"}${word}`)
        .join("\r\n");
    if (line.startsWith("AUTH")) return "235 2.7.0 accepted";
    return line === "DATA" ? "354 go on" : "250 2.1.0 ok";
  };
  const server = createServer(serve);
  const listening = await listen(server);
  const { port } = new URL(listening.url);
  return { ...listening, commands, mails, smtp: new URL(`smtp://127.0.0.1:${port}`) };
}
