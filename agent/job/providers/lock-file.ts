/**
 * Reads and completes `.terraform.lock.hcl` in the layout of terraform and tofu, in linear time.
 * Pure.
 */

export interface LockedProvider {
  /** `registry.terraform.io/hashicorp/aws`. */
  readonly address: string;
  readonly version: string;
  /** `h1:` of an unpacked package, `zh:` of a zip. */
  readonly hashes: readonly string[];
}

/** One `provider` block: the lines from `start` up to but not including `end`. */
interface Block {
  readonly address: string;
  readonly start: number;
  readonly end: number;
}

/** Leaves out blocks of another layout, whose providers are installed without the cache. */
export function readLock(text: string): LockedProvider[] {
  const lines = text.split("\n");
  return blocksOf(lines).flatMap(({ address, start, end }) => {
    const body = lines.slice(start + 1, end);
    const version = body.map((line) => /^\s*version\s*=\s*"([^"]+)"/.exec(line)?.[1]).find(Boolean);
    const list = hashLines(lines, { address, start, end });
    const hashes = lines
      .slice(list?.start, list?.end)
      .flatMap((line) => /^\s*"([a-z0-9]+:[^"]+)",?\s*$/.exec(line)?.[1] ?? []);
    return version === undefined ? [] : { address, version, hashes: list ? hashes : [] };
  });
}

/** Returns the file with these hashes, in terraform's order and layout. */
export function withHashes(text: string, changes: ReadonlyMap<string, readonly string[]>): string {
  const lines = text.split("\n");
  // From the end, so that the line numbers of earlier blocks stay right.
  for (const block of blocksOf(lines).toReversed()) {
    const hashes = changes.get(block.address);
    const list = hashes && hashLines(lines, block);
    if (!hashes || !list) continue;
    const entries = [...new Set(hashes)].toSorted().map((hash) => `    "${hash}",`);
    lines.splice(list.start, list.end - list.start, ...entries);
  }
  return lines.join("\n");
}

/**
 * Providers of the second file that the first does not name in this version. A block of another
 * layout counts as naming any.
 */
export function unlocked(text: string, later: string): LockedProvider[] {
  const versions = new Map(readLock(text).map(({ address, version }) => [address, version]));
  return readLock(later).filter(({ address, version }) =>
    versions.has(address)
      ? versions.get(address) !== version
      : !text.includes(JSON.stringify(address)),
  );
}

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let open: { address: string; start: number } | undefined;
  for (const [number, line] of lines.entries()) {
    const address = /^provider\s+"([^"]+)"\s*\{\s*$/.exec(line)?.[1];
    if (address !== undefined) open = { address, start: number };
    else if (open && line.startsWith("}")) {
      blocks.push({ ...open, end: number });
      open = undefined;
    }
  }
  return blocks;
}

/** The lines between `hashes = [` and `]`, one hash each. */
function hashLines(
  lines: readonly string[],
  { start, end }: Block,
): { start: number; end: number } | undefined {
  let first: number | undefined;
  for (let number = start + 1; number < end; number++) {
    const line = lines[number] ?? "";
    if (first === undefined && /^\s*hashes\s*=\s*\[\s*$/.test(line)) first = number + 1;
    else if (first !== undefined && line.trim() === "]") return { start: first, end: number };
  }
  return undefined;
}
