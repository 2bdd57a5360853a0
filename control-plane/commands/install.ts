/** `windlass server install`: the control plane as a systemd service of this machine. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { installService } from "../../common/install/service.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../config.ts";

const usage = `Usage: windlass server install [options]

Installs the control plane as a systemd service of this machine, with a user of
its own, a unit, and its settings in /etc/windlass/server.env. Its data is in
/var/lib/windlass. Run the command again to change a setting; options that you
leave out keep their values. docs/operate.md describes the reverse proxy in
front of the server, upgrades and backups.

Options:
  --public-url URL         the address that users and runners use, such as
                           https://windlass.example.com; required the first
                           time
  --host ADDRESS           the address to listen on (default: 127.0.0.1)
  --port PORT              the port to listen on (default: 8080)
  --trusted-proxies A,B    the addresses of the reverse proxies in front of it
  --no-start               write the files, but do not start the service
  --root DIR               write all files below DIR: to build an image,
                           or to look at them first
  -h, --help               print this help

Examples:
  sudo windlass server install --public-url https://windlass.example.com \\
    --trusted-proxies 127.0.0.1
  windlass server install --public-url https://windlass.example.com \\
    --root ./preview
`;

/** Runs the command. Sets the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function install(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      "public-url": { type: "string" },
      host: { type: "string" },
      port: { type: "string" },
      "trusted-proxies": { type: "string" },
      "no-start": { type: "boolean", default: false },
      root: { type: "string", default: "/" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return void process.stdout.write(usage);
  const settings = {
    WINDLASS_PUBLIC_URL: values["public-url"],
    WINDLASS_HOST: values.host,
    WINDLASS_PORT: values.port,
    WINDLASS_TRUSTED_PROXIES: values["trusted-proxies"],
  };
  try {
    // Checks the values now, not at the first start of the service.
    readConfig(settings);
    await installService({
      role: "server",
      settings,
      required: [
        "WINDLASS_PUBLIC_URL",
        "--public-url is missing: pass the address that users and runners use, such as --public-url https://windlass.example.com",
      ],
      hasUser: true,
      root: resolve(values.root),
      start: !values["no-start"],
      run,
      say: (line) => process.stdout.write(`${line}\n`),
    });
  } catch (error) {
    process.stderr.write(`windlass server install: ${(error as Error).message}\n`);
    process.exitCode = error instanceof ConfigError ? 2 : 1;
  }
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { execa } = await import("execa");
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  const result = await execa(program, args, { env, extendEnv: false, reject: false });
  if (!result.failed) return result.stdout;
  throw new Error(`${program}: ${result.stderr?.trim() || result.shortMessage}`);
}
