/** Somebody with an agent of their own, which can be killed and started again over the same work directory. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { scratch, startAgent, until, type AgentProcess } from "./agent-process.ts";
import type { Plane } from "./plane.ts";
import { newUser, type User } from "./user.ts";

export interface AgentOwner extends AsyncDisposable {
  readonly user: User;
  /** A directory of theirs; the agent's is `work` in it. */
  readonly place: string;
  readonly work: string;
  /** The one that was started last. */
  readonly agent: AgentProcess;
  /** Starts another one with the same settings. */
  restart(): AgentProcess;
  /** What all of them have logged. */
  agentLog(): string;
  /** Resolves when the agent asks for jobs. */
  ready(): Promise<void>;
  /** Who the agent is, once it is registered. */
  identity(): Promise<{ readonly workerId: string; readonly workerToken: string }>;
}

/** Signs somebody in and starts their agent; settings may need the directory. */
export async function agentOwner(
  plane: Plane,
  settings: Record<string, string> | ((place: string) => Record<string, string>) = {},
): Promise<AgentOwner> {
  const user = await newUser(plane);
  const { path: place, [Symbol.dispose]: remove } = scratch();
  const work = join(place, "work");
  const environment = {
    WINDLASS_URL: plane.url,
    WINDLASS_WORK_DIR: work,
    WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
    ...(typeof settings === "function" ? settings(place) : settings),
  };
  const agents: AgentProcess[] = [];
  const restart = (): AgentProcess => {
    const agent = startAgent(environment);
    agents.push(agent);
    return agent;
  };
  restart();
  const owner: AgentOwner = {
    user,
    place,
    work,
    get agent() {
      return agents.at(-1) as AgentProcess;
    },
    restart,
    agentLog: () => agents.map((agent) => agent.log()).join(""),
    ready: async () => {
      await until(() => owner.agent.log().includes("ready for jobs"));
    },
    identity: async () => {
      const file = join(work, "identity.json");
      await until(() => existsSync(file));
      return JSON.parse(readFileSync(file, "utf8")) as never;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
      remove();
    },
  };
  return owner;
}
