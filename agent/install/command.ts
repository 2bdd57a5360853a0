/** The command line of `windlass agent install`. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { ConfigError } from "../../common/settings/config-error.ts";
import { fileErrorText } from "../../common/file-errors.ts";
import { readHiddenLine } from "../../common/hidden-line.ts";
import { wrongUsage } from "../../common/wrong-usage.ts";
import { InstallError, installService } from "../../common/install/service.ts";
import { readConfig } from "../config.ts";
import { runProgram } from "../machine/programs.ts";

const usage = `Usage: windlass agent install [options]

Installs the agent as a systemd service of this machine, with a user of its own,
a unit, and its settings in /etc/windlass/agent.env. A restart or an upgrade of
the service waits for running jobs for up to WINDLASS_STOP_SECONDS. Run the
command again to change a setting; options that you leave out keep their values.

Options:
  --url URL                         the address of the control plane, such as
                                    https://windlass.example.com; required
                                    the first time
  --registration-token-file FILE    a file with the token that registers the
                                    agent at its first start; - reads the token
                                    from the terminal or a pipe
  --name NAME                       name of the worker (default: the host name)
  --labels A,B                      labels of the worker, which jobs may ask for
  --concurrency N                   how many jobs run at the same time
                                    (default: 1)
  --no-start                        write the files, but do not start the
                                    service
  --root DIR                        write all files below DIR: to build
                                    an image, or to look at them first
  -h, --help                        print this help

Examples:
  sudo windlass agent install --url https://windlass.example.com \\
    --registration-token-file -
  sudo windlass agent install --labels gpu,eu-west
  windlass agent install --url https://windlass.example.com --root ./preview
`;

/** Runs the command. Returns the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function installCommand(args: string[]): Promise<number> {
  const parsed = read(args);
  if (typeof parsed === "string") {
    process.stderr.write(
      `${wrongUsage("windlass agent install", `windlass agent install: ${parsed}`)}\n`,
    );
    return 2;
  }
  if (parsed.help) {
    process.stdout.write(usage);
    return 0;
  }
  try {
    const tokenFile = parsed["registration-token-file"];
    const settings = {
      WINDLASS_URL: parsed.url,
      WINDLASS_WORKER_NAME: parsed.name,
      WINDLASS_LABELS: parsed.labels,
      WINDLASS_CONCURRENCY: parsed.concurrency,
    };
    // Checks the values now, not at the first start of the service. The file may already have the
    // address.
    readConfig({ WINDLASS_URL: "http://localhost", ...given(settings) });
    await installService({
      role: "agent",
      settings,
      required: [
        "WINDLASS_URL",
        "--url is missing: pass the address of the control plane, such as --url https://windlass.example.com",
      ],
      credentials: {
        "windlass-agent.registration-token":
          tokenFile === undefined ? undefined : await readToken(tokenFile),
      },
      hasUser: true,
      root: resolve(parsed.root),
      start: !parsed["no-start"],
      run: runProgram,
      say: (line) => process.stdout.write(`${line}\n`),
    });
    return 0;
  } catch (error) {
    process.stderr.write(`windlass agent install: ${(error as Error).message}\n`);
    return error instanceof ConfigError ? 2 : 1;
  }
}

const given = (settings: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

const read = (args: string[]) => {
  try {
    const { values } = parseArgs({
      args,
      options: {
        url: { type: "string" },
        "registration-token-file": { type: "string" },
        name: { type: "string" },
        labels: { type: "string" },
        concurrency: { type: "string" },
        "no-start": { type: "boolean", default: false },
        root: { type: "string", default: "/" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    return values;
  } catch (error) {
    return (error as Error).message;
  }
};

async function readToken(file: string): Promise<string> {
  const [line = ""] = (file === "-" ? await textOfStdin() : textOf(file)).split("\n");
  const token = line.trim();
  if (!/^[\w-]{8,4096}$/.test(token))
    throw new InstallError(
      "this is not a registration token: create one in the console, or with windlass tokens create",
    );
  return token;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const why = fileErrorText(error);
    throw new InstallError(`the registration token cannot be read from ${file}: ${why}`);
  }
}

async function textOfStdin(): Promise<string> {
  if (!process.stdin.isTTY) return text(process.stdin);
  const typed = await readHiddenLine("Registration token: ");
  if (typed === undefined) throw new InstallError("no registration token was entered");
  return typed;
}
