/**
 * An S3 server that runs on this machine, where it is installed: `moto_server`, which checks no
 * credentials and keeps everything in memory; in the project `peers` `versitygw`, a real server.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { freePort } from "../network/free-port.ts";

/** Whether it is the real one. */
export const isVersity = process.env["WINDLASS_TEST_S3"] === "versitygw";
const program = isVersity ? "versitygw" : "moto_server";

/** Why tests that need S3 cannot run here; undefined if they can. */
export const lackOfS3 =
  spawnSync(program, ["--help"]).status === 0
    ? undefined
    : `${isVersity ? "needs a program that go installs: " : ""}${program} is not on the PATH, or does not start`;

/** The credentials that it accepts. */
export const s3Credentials = {
  AWS_ACCESS_KEY_ID: "planted-key-id",
  AWS_SECRET_ACCESS_KEY: "planted-secret",
};

export interface S3Server extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Starts it again, with its data if it is the real one. */
  restart(): Promise<void>;
}

/** Starts it with an empty bucket. */
export async function startS3(bucket: string): Promise<S3Server> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = mkdtempSync(join(tmpdir(), "s3-server-"));
  // A directory of the real one is a bucket.
  mkdirSync(join(folder, bucket));
  const args = isVersity
    ? ["--port", `127.0.0.1:${port}`, "--region", "us-east-1", "posix", folder]
    : ["-H", "127.0.0.1", "-p", String(port)];
  const env = {
    ...process.env,
    ROOT_ACCESS_KEY: s3Credentials.AWS_ACCESS_KEY_ID,
    ROOT_SECRET_KEY: s3Credentials.AWS_SECRET_ACCESS_KEY,
  };
  let server: ChildProcess;
  const restart = async () => {
    server = spawn(program, args, { env, stdio: "ignore" });
    while (!(await isUp(url))) {
      if (server.exitCode !== null) throw new Error(`${program} has ended`);
      await sleep(50);
    }
  };
  const kill = async () => {
    const exited = once(server, "exit");
    if (server.kill("SIGKILL")) await exited;
  };
  await restart();
  if (!isVersity) await (await request(`${url}/${bucket}`, { method: "PUT" })).body.dump();
  return {
    url,
    port,
    kill,
    restart,
    [Symbol.asyncDispose]: async () => {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}

async function isUp(url: string): Promise<boolean> {
  try {
    await (await request(url)).body.dump();
    return true;
  } catch {
    return false;
  }
}
