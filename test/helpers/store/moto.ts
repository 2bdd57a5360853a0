/** `moto_server`, an S3 that runs on this machine, where it is installed. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { freePort } from "../network/free-port.ts";

/** Why tests that need S3 cannot run here; undefined if they can. */
export const lackOfMoto =
  spawnSync("moto_server", ["--help"]).status === 0
    ? undefined
    : "moto_server is not on the PATH, or does not start";

export interface Moto extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

/** Starts it with an empty bucket. */
export async function startMoto(bucket: string): Promise<Moto> {
  const port = await freePort();
  const moto = spawn("moto_server", ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  const exited = once(moto, "exit");
  const url = `http://127.0.0.1:${port}`;
  while (!(await isUp(url))) {
    if (moto.exitCode !== null) throw new Error("moto_server has ended");
    await sleep(50);
  }
  const made = await request(`${url}/${bucket}`, { method: "PUT" });
  await made.body.dump();
  return {
    url,
    port,
    [Symbol.asyncDispose]: async () => {
      moto.kill("SIGKILL");
      await exited;
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
