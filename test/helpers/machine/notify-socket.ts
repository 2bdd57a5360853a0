/** The socket at which systemd receives messages of services (`sd_notify(3)`). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { until } from "../agent/agent-process.ts";

// Node has no Unix datagrams.
const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("listening", flush=True)
while True: print(s.recv(4096).decode().replace("\\n", " "), flush=True)
`;

/** Listens at a socket in this directory. Needs python3. */
export async function listenAsSystemd(directory: string) {
  const path = join(directory, "notify");
  const listener = spawn("python3", ["-c", receiver, path]);
  let received = "";
  listener.stdout.setEncoding("utf8").on("data", (text: string) => (received += text));
  const receives = (text: string) => until(() => received.includes(text));
  await receives("listening");
  return {
    path,
    /** Resolves when a message with this text has arrived. */
    receives,
    [Symbol.asyncDispose]: async () => {
      listener.kill();
      await once(listener, "exit");
    },
  };
}
