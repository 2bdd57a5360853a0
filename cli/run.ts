/** What every command that talks to a server shares: its options, its API, how it says what it found. What it needs is loaded when it runs. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Api } from "./api/api.ts";
import type { ClientSettings } from "./config.ts";
import { clean, Failure, fitted, print, say, table } from "./terminal/output.ts";

export interface GlobalOptions {
  readonly server?: string;
  readonly profile?: string;
  readonly json?: boolean;
}

export interface Run extends GlobalOptions {
  readonly settings: ClientSettings;
  /** Opened at its first use. */
  readonly api: Api;
  /** Aborted by Ctrl-C; the command then ends with 130. */
  readonly signal: AbortSignal;
  /** Has Ctrl-C call this instead, until what is answered is disposed of. */
  onInterrupt(handle: () => void): Disposable;
  /** One thing: as JSON, or as lines of names and values. */
  show(value: object, fields: Fields): void;
  /** Several: as one JSON array, or as a table; `none` says on stderr what to do when there are none. */
  list<T extends object>(items: readonly T[], columns: Columns<T>, none: string): void;
  /** What was done: on stderr, for people; programs read the exit code. */
  done(text: string): void;
}

/** Names and values; what is undefined or null is left out. */
export type Fields = Readonly<Record<string, string | number | null | undefined>>;
export type Columns<T> = Readonly<Record<string, (item: T) => string | number | null | undefined>>;

type Handler<A extends unknown[]> = (run: Run, ...args: A) => Promise<void> | void;

/**
 * The action of a command: `handle` gets a `Run`, then what commander passes: the arguments and the command's own options. The command
 * comes last; the global options are read from it, wherever on the line they stood.
 */
export const action =
  <A extends unknown[]>(handle: Handler<A>) =>
  async (...args: [...A, ...unknown[]]): Promise<void> => {
    const command = args.at(-1) as CommandUnknownOpts;
    const interrupted = new AbortController();
    const abort = (): void => interrupted.abort(new Interrupted());
    let handler = abort;
    const onInterrupt = (): void => handler();
    process.on("SIGINT", onInterrupt);
    try {
      const run = await runOf(command.optsWithGlobals(), interrupted.signal, (next) => {
        handler = next ?? abort;
      });
      await handle(run, ...(args as unknown as A));
    } catch (error) {
      if (interrupted.signal.aborted) throw new Interrupted();
      throw error;
    } finally {
      process.removeListener("SIGINT", onInterrupt);
    }
  };

/** Ctrl-C: the shell's number for it, and no message. */
class Interrupted extends Failure {
  constructor() {
    super("", 130);
  }
}

async function runOf(
  options: GlobalOptions,
  signal: AbortSignal,
  setHandler: (handle: (() => void) | undefined) => void,
): Promise<Run> {
  const [{ openApi }, { readClientSettings, proxySettings }] = await Promise.all([
    import("./api/api.ts"),
    import("./config.ts"),
  ]);
  const settings = readClientSettings();
  const proxies = proxySettings();
  if (proxies) (await import("./api/proxy.ts")).useProxies(proxies);
  let api: Api | undefined;
  return {
    ...options,
    settings,
    signal,
    get api() {
      const { server, profile } = options;
      return (api ??= openApi({ settings, server, profile, signal }));
    },
    onInterrupt(handle) {
      setHandler(handle);
      return { [Symbol.dispose]: () => setHandler(undefined) };
    },
    show(value, fields) {
      if (options.json) return print(JSON.stringify(value, null, 2));
      for (const line of table(Object.entries(fields).flatMap(rowsOf))) print(line.trimEnd());
    },
    list(items, columns, none) {
      if (options.json) return print(JSON.stringify(items, null, 2));
      if (items.length === 0) return say(none);
      const rows = items.map((item) =>
        Object.values(columns).map((of) => clean(String(of(item) ?? "-"))),
      );
      for (const line of table(fitted([Object.keys(columns), ...rows]))) print(line.trimEnd());
    },
    done(text) {
      if (!options.json) say(text);
    },
  };
}

/** A value of several lines goes on below itself. */
function rowsOf([name, field]: [string, Fields[string]]): string[][] {
  if (field === null || field === undefined || field === "") return [];
  return String(field)
    .split("\n")
    .map((line, index) => [index === 0 ? name : "", clean(line)]);
}
