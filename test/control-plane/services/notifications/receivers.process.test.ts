/** The receivers of docs/notifications.md, unchanged, with real deliveries. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { Webhook } from "standardwebhooks";
import { describe, expect } from "vitest";
import { minute, second } from "../../../../common/units.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { freePort } from "../../../helpers/network/free-port.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { sampleEvent } from "../../../helpers/plane/sample-events.ts";
import { root } from "../../../helpers/project/source-files.ts";
import { lackOfProgram } from "../../../helpers/project/tools.ts";

const page = readFileSync(join(root, "docs/notifications.md"), "utf8");
const path = folderForFile();
const { it } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

const receivers = [
  { language: "js", file: "receiver.mjs", command: [process.execPath, "receiver.mjs"] },
  { language: "python", file: "receiver.py", command: ["python3", "receiver.py"] },
  { language: "go", file: "receiver.go", command: ["./receiver"] },
] as const;

/** Resolves when it listens. */
async function startReceiver(command: readonly string[], port: number, secret: string) {
  const [program = "", ...words] = command;
  const env = { ...process.env, PORT: String(port), WINDLASS_WEBHOOK_SECRET: secret };
  const child = spawn(program, words, { cwd: path, env, stdio: ["ignore", "pipe", "ignore"] });
  let printed = "";
  child.stdout.on("data", (part: Buffer) => (printed += part.toString()));
  const ended = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: "POST", body, headers }).then(({ status }) => status);
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    if ((await post("{}").catch(() => 0)) !== 0) break;
    await sleep(50);
  }
  return {
    post,
    lines: () => printed.split("\n").filter((line) => line !== ""),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

describe.each(receivers)("the receiver in $language", ({ language, file, command }) => {
  it("takes what we and the reference library sign, each event once, and nothing else", async ({
    client,
    skip,
  }) => {
    const needed = { js: [], python: ["python3"], go: ["go"] }[language];
    const lack = lackOfProgram(...needed);
    if (lack !== undefined) skip(lack);
    const [, code = ""] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "ms").exec(page) ?? [];
    writeFileSync(join(path, file), code);
    if (language === "go") {
      const env = { GOFLAGS: "-mod=mod", GOPROXY: "off" };
      await execa("go", ["build", "-o", "receiver", file], { cwd: path, env, timeout: 4 * minute });
    }
    const port = await freePort();
    const { id, secret = "" } = await client.call("createNotification", {
      body: {
        name: "hook",
        events: ["job.*"],
        to: { kind: "webhook", url: `http://127.0.0.1:${port}/hook` },
      },
    });
    const params = { id };
    await using receiver = await startReceiver(command, port, secret);

    const delivered = { status: "delivered", response_status: 204 };
    const first = await client.call("testNotification", { params });
    expect(first).toMatchObject(delivered);
    const again = { params: { id, delivery_id: first.id } };
    expect(await client.call("redeliver", again)).toMatchObject(delivered);
    expect(receiver.lines()).toEqual(["ping This is a test of a notification rule."]);

    const overlap_seconds = 3600;
    await client.call("rotateNotificationSecret", { params, body: { overlap_seconds } });
    expect(await client.call("testNotification", { params })).toMatchObject(delivered);
    await client.call("rotateNotificationSecret", { params, body: { overlap_seconds: 0 } });
    expect(await client.call("testNotification", { params })).toMatchObject({
      response_status: 401,
    });

    const body = JSON.stringify(sampleEvent("deployed"));
    const signed = (changes: { body?: string; at?: number; with?: string } = {}) => {
      const at = new Date(Date.now() + (changes.at ?? 0));
      const signature = new Webhook(changes.with ?? secret).sign("evt_1", at, body);
      return receiver.post(changes.body ?? body, {
        "webhook-id": "evt_1",
        "webhook-timestamp": String(Math.floor(at.getTime() / second)),
        "webhook-signature": signature,
      });
    };
    expect(await signed()).toBe(204);
    expect(await signed({ body: body.replace("deployed", "destroyed") })).toBe(401);
    expect(await signed({ at: -6 * minute })).toBe(401);
    expect(await signed({ at: 6 * minute })).toBe(401);
    expect(await signed({ with: `whsec_${Buffer.alloc(32).toString("base64")}` })).toBe(401);
    expect(await receiver.post(body)).toBe(401);
    expect(await receiver.post("x".repeat(70_000))).toBe(413);
    expect(receiver.lines().slice(2)).toEqual(["deployed “network” is deployed (+1 ~2 −1)."]);
  });
});
