/** Finds the terraform or tofu binary a job needs: on the PATH, else in the cache, else by a checked download. */
import type { Engine } from "../../protocol/configurations.ts";

export interface EngineBinary {
  readonly engine: Engine;
  /** Exact, as `version -json` says. */
  readonly version: string;
  readonly path: string;
}

export interface EngineOptions {
  /** The PATH to search. */
  readonly path: string;
  readonly cacheDirectory: string;
  /** Base address of releases; default https://releases.hashicorp.com. */
  readonly mirror: string | undefined;
  /** Only what is installed: never download. */
  readonly offline: boolean;
  /** Armored OpenPGP keys that may sign releases; default HashiCorp's pinned one. */
  readonly publicKeys?: string | undefined;
  readonly signal: AbortSignal;
  /** Told about anything that takes over a second. */
  onProgress(text: string): void;
}

/** Resolves the newest binary that satisfies the constraint; throws an error with one line that says what to do. */
export async function resolveEngine(
  _want: { engine: Engine; constraint: string | null },
  _options: EngineOptions,
): Promise<EngineBinary> {
  throw new Error("not built yet");
}
