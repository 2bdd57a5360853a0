/** Finds the engine that a job needs: on the PATH, in the cache, or by a verified download. */
import type { Engine } from "../../../protocol/configurations.ts";
import type { Network } from "../../../common/network.ts";
import { downloadEngine, usualLimits, type DownloadLimits } from "./download.ts";
import { findInstalled, programs } from "./installed.ts";
import { releases, type EngineMirrors } from "./releases.ts";
import { parseConstraint } from "../../../common/version-constraint.ts";

export interface EngineBinary {
  readonly engine: Engine;
  /** The exact version, as `version -json` prints it. */
  readonly version: string;
  readonly path: string;
}

export interface EngineOptions {
  /** The PATH to search. */
  readonly path: string;
  /** The proxies for downloads. */
  readonly network: Network;
  readonly cacheDirectory: string;
  readonly mirrors: EngineMirrors;
  /** Uses only what is installed and downloads nothing. */
  readonly offline: boolean;
  /** Armored OpenPGP keys that may sign releases; default: the pinned one of each engine. */
  readonly publicKeys?: string | undefined;
  readonly signal: AbortSignal;
  /** Called when something takes longer than a second. */
  onProgress(text: string): void;
}

export interface EngineWish {
  readonly engine: Engine;
  /** Like terraform's `required_version`; null: any version. */
  readonly constraint: string | null;
}

/** Throws an error of one line that says what to do. */
export async function resolveEngine(
  want: EngineWish,
  options: EngineOptions,
  limits: DownloadLimits = usualLimits,
): Promise<EngineBinary> {
  const { engine } = want;
  const constraint = parseConstraint(want.constraint);
  const progress = progressOf(options.onProgress);
  try {
    progress.onPhase(() => `looking for ${programs[engine]} on this machine`);
    const found = await findInstalled(engine, constraint, options);
    if (found.fitting) {
      return { engine, version: found.fitting.version.text, path: found.fitting.path };
    }
    const wanted = [programs[engine], constraint.text].filter(Boolean).join(" ");
    const others = found.others.length > 0 ? ` (${found.others.join(", ")})` : "";
    const missing = `${wanted} is not installed${others}`;
    if (options.offline) {
      throw new Error(
        `${missing} and downloads are off: install ${wanted} and put it on the agent's PATH, or set WINDLASS_ENGINE_OFFLINE=0`,
      );
    }
    try {
      const { path, version } = await downloadEngine({
        ...options,
        ...progress,
        engine,
        constraint,
        limits,
        mirror: options.mirrors[engine],
      });
      return { engine, version: version.text, path };
    } catch (error) {
      options.signal.throwIfAborted();
      throw new Error(
        `${missing} and could not be downloaded (${reasonOf(error)}): install ${wanted} and put it on the agent's PATH, ` +
          `or set ${releases[engine].setting} to an address of ${programs[engine]} releases that this machine can reach`,
        { cause: error },
      );
    }
  } finally {
    progress.stop();
  }
}

/** Returns what an error says. Some network errors have a code and no message. */
export function reasonOf(error: unknown): string {
  const { message, code, errors } = error as NodeJS.ErrnoException & { errors?: Error[] };
  return message || errors?.[0]?.message || code || String(error);
}

/** Reports what takes longer than a second, again every ten seconds. */
function progressOf(onProgress: (text: string) => void): {
  onPhase(text: () => string): void;
  stop(): void;
} {
  let timer: NodeJS.Timeout | undefined;
  const tell = (text: () => string, after: number): void => {
    timer = setTimeout(() => {
      onProgress(text());
      tell(text, 10_000);
    }, after);
  };
  return {
    onPhase(text) {
      clearTimeout(timer);
      tell(text, 1000);
    },
    stop: () => clearTimeout(timer),
  };
}
