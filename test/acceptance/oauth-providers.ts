/** The four providers, each as its own server process on the loopback. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { providerNames, type ProviderName } from "../../control-plane/domain/providers.ts";

export interface ProviderProcesses extends AsyncDisposable {
  readonly urls: Readonly<Record<ProviderName, string>>;
  /** The settings of a server that offers all four. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Starts all four for a server at this address. Each signs in every visitor as
 * `ada@{provider}.example`.
 */
export async function spawnProviders(server: string): Promise<ProviderProcesses> {
  const started = await Promise.all(providerNames.map((name) => spawnProvider(name, server)));
  const urls = Object.fromEntries(
    started.map(({ name, url }) => [name, url]),
  ) as ProviderProcesses["urls"];
  const settings = providerNames.flatMap((name) => [
    [`${name.toUpperCase()}_CLIENT_ID`, "client"],
    [`${name.toUpperCase()}_CLIENT_SECRET`, "client-secret"],
    [`${name.toUpperCase()}_BASE_URL`, urls[name]],
  ]);
  return {
    urls,
    settings: { ...Object.fromEntries(settings), WINDLASS_SIGN_IN_ALLOW: "*" } as Record<
      string,
      string
    >,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(started.map(({ end }) => end()));
    },
  };
}

async function spawnProvider(name: ProviderName, server: string) {
  const program = join(import.meta.dirname, "oauth-provider-process.ts");
  const child = spawn(process.execPath, [program, name, `${server}/api/auth/callback`], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exited = once(child, "exit");
  const [url] = (await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    exited.then(([code]) => {
      throw new Error(`the ${name} of this test ended (${code})`);
    }),
  ])) as [string];
  return {
    name,
    url,
    end: async () => {
      child.kill();
      await exited;
    },
  };
}
