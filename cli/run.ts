/** What commands share: global options, the API client and output. Modules load when one runs. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Api } from "./api/api.ts";
import type { ClientSettings } from "./config.ts";
import { clean, cleanLine, CliError, print, say } from "./terminal/output.ts";
import { fitToTerminal, shortenIds, table, type Fitting } from "./terminal/table.ts";

export interface GlobalOptions {
  readonly server?: string;
  readonly profile?: string;
  readonly team?: string;
  readonly json?: boolean;
}

export interface Run extends GlobalOptions {
  readonly settings: ClientSettings;
  /** Opened at its first use. */
  readonly api: Api;
  /** Aborted by Ctrl-C; the command then exits with 130. */
  readonly signal: AbortSignal;
  /** Makes Ctrl-C call this instead, until the returned value is disposed. */
  onInterrupt(handle: () => void): Disposable;
  /** Prints one object: as JSON, or as lines of names and values. */
  show(value: object, fields: Fields): void;
  /** Prints a list as one JSON array or a table. If it is empty, `none` goes to stderr. */
  list<T extends object>(
    items: readonly T[],
    columns: Columns<T>,
    none: string,
    fitting?: Fitting,
  ): void;
  /** Prints what was done to stderr; nothing with `--json`. */
  done(text: string): void;
  /** Prints to stderr that a list ends before the last of its items, such as "jobs"; with `--json` too. */
  cut(items: string): void;
}

/** Names and values; undefined and null values are left out. */
export type Fields = Readonly<Record<string, string | number | null | undefined>>;
export type Columns<T> = Readonly<Record<string, (item: T) => string | number | null | undefined>>;

type Handler<A extends unknown[]> = (run: Run, ...args: A) => Promise<void> | void;

/**
 * `handle` gets a `Run`, then the arguments and options of commander, which passes the command
 * last: from it come the global options, which may stand anywhere.
 */
export const action =
  <A extends unknown[]>(handle: Handler<A>) =>
  async (...args: [...A, ...unknown[]]): Promise<void> => {
    const command = args.at(-1) as CommandUnknownOpts;
    const interrupted = new AbortController();
    const abort = (): void => interrupted.abort(new InterruptedError());
    let handler = abort;
    const onInterrupt = (): void => handler();
    process.on("SIGINT", onInterrupt);
    try {
      const run = await runOf(command.optsWithGlobals(), interrupted.signal, (next) => {
        handler = next ?? abort;
      });
      await handle(run, ...(args as unknown as A));
    } catch (error) {
      if (interrupted.signal.aborted) throw new InterruptedError();
      throw error;
    } finally {
      process.removeListener("SIGINT", onInterrupt);
    }
  };

/** Ctrl-C: exits with 130, the shell's code for it, and prints no message. */
class InterruptedError extends CliError {
  constructor() {
    super("", 130);
  }
}

async function runOf(
  options: GlobalOptions,
  signal: AbortSignal,
  setHandler: (handle: (() => void) | undefined) => void,
): Promise<Run> {
  const [{ openApi }, { readClientSettings, proxySettings }, { setGlobalDispatcher }] =
    await Promise.all([
      import("./api/api.ts"),
      import("./config.ts"),
      import("../common/http-client.ts"),
    ]);
  const settings = readClientSettings();
  const proxies = proxySettings();
  if (proxies) {
    const { EnvHttpProxyAgent } = await import("../common/http-proxies.ts");
    setGlobalDispatcher(new EnvHttpProxyAgent(proxies));
  }
  let api: Api | undefined;
  return {
    ...options,
    settings,
    signal,
    get api() {
      const { server, profile, team } = options;
      return (api ??= openApi({ settings, server, profile, team, signal }));
    },
    onInterrupt(handle) {
      setHandler(handle);
      return { [Symbol.dispose]: () => setHandler(undefined) };
    },
    show(value, fields) {
      if (options.json) return print(JSON.stringify(value, null, 2));
      for (const line of table(Object.entries(fields).flatMap(rowsOf))) print(line.trimEnd());
    },
    list(items, columns, none, fitting) {
      if (options.json) return print(JSON.stringify(items, null, 2));
      if (items.length === 0) return say(none);
      const rows = items.map((item) =>
        Object.values(columns).map((of) => clean(String(of(item) ?? "-"))),
      );
      const shown = fitToTerminal([Object.keys(columns), ...shortenIds(rows)], undefined, fitting);
      for (const line of table(shown)) print(line.trimEnd());
    },
    done(text) {
      if (!options.json) say(text);
    },
    cut: (items) => say(`There are older ${items}. To list more, pass a higher --limit.`),
  };
}

/** Returns one row per line of the value. */
function rowsOf([name, field]: [string, Fields[string]]): string[][] {
  if (field === null || field === undefined || field === "") return [];
  return String(field)
    .split("\n")
    .map((line, index) => [index === 0 ? name : "", cleanLine(line)]);
}
