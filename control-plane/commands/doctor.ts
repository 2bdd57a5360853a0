/** `windlass server doctor`: prints one line for each thing that a server needs. */
import { parseArgs } from "node:util";
import { ConfigError } from "../../common/settings/config-error.ts";
import { finding, ok, type Finding } from "../../common/doctor/finding.ts";
import { printFindings } from "../../common/doctor/print.ts";
import { setGlobalDispatcher } from "../../common/http-client.ts";
import { dispatcherOf } from "../../common/http-proxies.ts";
import { proxiesOf } from "../../common/network.ts";
import { wrongUsage } from "../../common/wrong-usage.ts";
import { readConfig, type ServerConfig } from "../config.ts";
import { isOidc, oidcNames } from "../domain/providers.ts";
import { findFact } from "../store/facts.ts";
import { withStore } from "./beside-server.ts";
import { localUrl } from "./local-url.ts";

const usage = `Usage: windlass server doctor [options]

Checks what the server needs on this machine: settings, database, directories
and bucket, mail server, clock, public address and certificate, sign-in
providers, the issuer of tokens for jobs, teams without an admin. Changes
nothing. The server may be running. The exit code is 1 if a check fails.

With --oidc, it signs you in at an OpenID Connect provider instead, without a
login here, and prints each claim of you, whether you may sign in, and the teams
and roles that your groups give, or why there are none. It prints an address to
open in a browser, and asks for the address at which the browser arrives.

Settings come from the environment, as for windlass server.

Options:
  --oidc [NAME]        sign in at this provider of the settings (default: oidc)
  --json               print the findings as one JSON array
  -h, --help           print this help

Examples:
  windlass server doctor
  windlass server doctor --oidc
  windlass server doctor --oidc oidc_2 --json

As the user of the installed server:
  sudo systemd-run --pipe --wait --collect --uid=windlass-server \\
    --property=EnvironmentFile=/etc/windlass/server.env \\
    --setenv=STATE_DIRECTORY=/var/lib/windlass \\
    "$(command -v windlass)" server doctor
`;

export async function doctor(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    // `--oidc=oidc_2` is the same as `--oidc oidc_2`.
    args: args.flatMap((word) => (word.startsWith("--oidc=") ? word.split("=", 2) : [word])),
    options: {
      oidc: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
    allowPositionals: true,
  });
  if (values.help) return void process.stdout.write(usage);
  const [name = "oidc", ...others] = positionals;
  if (others.length > 0 || (positionals.length > 0 && !values.oidc) || !isOidc(name)) {
    const text = `windlass server doctor: "${positionals.join(" ")}" is no name of a provider: pass --oidc, or one of ${oidcNames.slice(1).join(", ")}`;
    process.stderr.write(`${wrongUsage("windlass server doctor", text)}\n`);
    process.exitCode = 2;
    return;
  }
  const { json } = values;
  const conclude = values.oidc
    ? () => "The sign-in works as shown."
    : () => "The server can work here.";
  process.exitCode = await printFindings(values.oidc ? signIn(name) : examine(), {
    json,
    conclude,
  });
}

/** Yields the settings first: without them nothing can be checked. */
async function* settings(): AsyncGenerator<Finding, ServerConfig | undefined> {
  let config: ServerConfig;
  try {
    config = readConfig();
    if (proxiesOf(config.network)) setGlobalDispatcher(dispatcherOf(config.network));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    yield finding("settings", "failed", error.message, "windlass server --help lists them");
    return undefined;
  }
  const { warnings } = config;
  yield warnings.length > 0
    ? finding("settings", "warning", warnings.join("; "), "correct or remove it")
    : ok("settings", "valid");
  return config;
}

async function* examine(): AsyncGenerator<Finding> {
  const config = yield* settings();
  if (!config) return;
  const server = await import("./doctor/server-checks.ts");
  const data = await import("./doctor/data-checks.ts");
  const people = await import("./doctor/provider-checks.ts");
  const serving = await server.isServing(config);
  yield serving;
  yield data.directory("directory", config.dataDirectory);
  yield* await data.database(config, data.teams);
  yield await data.bucket(config);
  yield await data.mail(config);
  const { found, answer } = await server.publicAddress(config, serving.state === "ok");
  yield found;
  const asked = await people.providers(config);
  for (const one of asked) yield one.found;
  yield people.issuer(config);
  // The public address may lead to this machine itself, so it is the last to be asked.
  const others = asked.flatMap((one) => one.answer ?? []);
  yield server.clock([...others, ...(answer ? [{ name: config.publicUrl ?? "", answer }] : [])]);
}

async function* signIn(name: (typeof oidcNames)[number]): AsyncGenerator<Finding> {
  const config = yield* settings();
  if (!config) return;
  const provider = config.providers[name];
  if (!provider) {
    const text = `${name} is not set`;
    yield finding("sign-in", "failed", text, "set WINDLASS_OIDC_ISSUER and what belongs to it");
    return;
  }
  const { claimChecks } = await import("./doctor/claims.ts");
  const server = config.publicUrl ?? (await knownUrl(config)) ?? localUrl(config);
  yield* claimChecks(config, { name, settings: provider, server }, (work) =>
    withStore(config, work),
  );
}

/** Where the server was when it last started. */
async function knownUrl(config: ServerConfig): Promise<string | undefined> {
  let url: string | undefined;
  await withStore(config, async (store) => {
    url = await findFact(store.read, "public_url");
  }).catch(() => undefined);
  return url;
}
