/**
 * A user's machine: the client, and an agent that can be killed and started again over the same
 * work directory.
 */
import { chownSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { engineWords } from "../agent/engines.ts";
import { scratch, startAgent, until, type AgentProcess } from "../agent/agent-process.ts";
import type { Plane } from "../plane/plane.ts";
import { addUser, type User } from "../people/user.ts";
import { windlass } from "./windlass.ts";

type Settings = Record<string, string>;

export interface UserMachine extends AsyncDisposable {
  readonly user: User;
  /** A directory that is removed with the machine. */
  readonly path: string;
  /** The agent's work directory. */
  readonly work: string;
  /** The environment of the client. */
  readonly environment: Settings;
  /** Runs a command of the client in a pipe. */
  run(...words: string[]): ReturnType<typeof windlass>;
  /** Runs a command that must succeed, and returns its JSON. */
  json<T = never>(...words: string[]): Promise<T>;
  /** The agent process that was started last. */
  readonly agent: AgentProcess;
  /** Starts another agent process with the same settings. */
  restart(): AgentProcess;
  /** The logs of all agent processes. */
  agentLog(): string;
  /** Resolves when the agent asks for jobs. */
  ready(): Promise<void>;
  /** Resolves when the agent is registered. */
  identity(): Promise<{ readonly workerId: string; readonly workerToken: string }>;
}

/**
 * Signs a new user in. With `agent`, also starts the user's agent: named "runner", or with these
 * settings, which may depend on the machine's directory. `as`: the agent runs as this user.
 */
export async function userMachine(
  plane: Plane,
  {
    agent = false,
    as,
  }: {
    agent?: boolean | Settings | ((path: string) => Settings);
    as?: number | undefined;
  } = {},
): Promise<UserMachine> {
  const user = await addUser(plane);
  const { path, [Symbol.dispose]: remove } = scratch();
  if (as !== undefined) chownSync(path, as, as);
  const work = join(path, "work");
  const environment = { ...user.environment, WINDLASS_CONFIG_DIR: join(path, "client") };
  const given = typeof agent === "function" ? agent(path) : agent;
  const settings = {
    WINDLASS_URL: plane.url,
    WINDLASS_WORK_DIR: work,
    WINDLASS_REGISTRATION_TOKEN: given === false ? "" : await user.registrationToken(),
    ...(typeof given === "object" ? given : { WINDLASS_WORKER_NAME: "runner" }),
  };
  const agents: AgentProcess[] = [];
  const run = (...words: string[]) =>
    windlass([...words, ...engineWords(words)], { env: environment });
  const machine: UserMachine = {
    user,
    path,
    work,
    environment,
    run,
    json: async (...words) => {
      const { exitCode, stdout, stderr } = await run(...words, "--json");
      if (exitCode !== 0)
        throw new Error(`windlass ${words.join(" ")} (${exitCode}): ${stderr as string}`);
      return JSON.parse(stdout as string);
    },
    get agent() {
      return agents.at(-1) as AgentProcess;
    },
    restart: () => {
      agents.push(startAgent(settings, as));
      return machine.agent;
    },
    agentLog: () => agents.map((one) => one.log()).join(""),
    ready: async () => {
      await until(() => machine.agent.log().includes("ready for jobs"));
    },
    identity: async () => {
      const file = join(work, "identity.json");
      await until(() => existsSync(file));
      return JSON.parse(readFileSync(file, "utf8")) as never;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(agents.map((one) => one[Symbol.asyncDispose]()));
      remove();
    },
  };
  if (given !== false) machine.restart();
  return machine;
}
