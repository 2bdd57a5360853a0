/** A person with a runner of their own, who works on the command line. */
import { join } from "node:path";
import { scratch, startAgent, type AgentProcess } from "./agent-process.ts";
import type { Plane } from "./plane.ts";
import { newUser, type User } from "./user.ts";
import { windlass } from "./windlass.ts";

export interface Someone extends AsyncDisposable {
  readonly user: User;
  readonly agent: AgentProcess | undefined;
  /** A directory of theirs. */
  readonly path: string;
  readonly environment: Record<string, string>;
  /** Runs a command in a pipe. */
  run(...words: string[]): ReturnType<typeof windlass>;
  /** Runs a command that must succeed, and answers its JSON. */
  json(...words: string[]): Promise<never>;
}

/** Signs somebody in; with `agent` their runner is started too. */
export async function someone(plane: Plane, { agent = false } = {}): Promise<Someone> {
  const user = await newUser(plane);
  const place = scratch();
  const environment = { ...user.environment, WINDLASS_CONFIG_DIR: join(place.path, "client") };
  const started = agent
    ? startAgent({
        WINDLASS_URL: plane.url,
        WINDLASS_WORK_DIR: join(place.path, "work"),
        WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
        WINDLASS_WORKER_NAME: "runner",
      })
    : undefined;
  const run = (...words: string[]) => windlass(words, { env: environment });
  return {
    user,
    agent: started,
    path: place.path,
    environment,
    run,
    json: async (...words) => {
      const { exitCode, stdout, stderr } = await run(...words, "--json");
      if (exitCode !== 0)
        throw new Error(`windlass ${words.join(" ")} (${exitCode}): ${stderr as string}`);
      return JSON.parse(stdout as string) as never;
    },
    [Symbol.asyncDispose]: async () => {
      await started?.[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
}
