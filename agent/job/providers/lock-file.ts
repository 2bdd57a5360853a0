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
  /** It certainly has no hashes, so any package of the version is accepted. */
  readonly isOpen: boolean;
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
  const isPlain = isPlainLock(text);
  return blocksOf(lines).flatMap(({ address, start, end }) => {
    const body = lines.slice(start + 1, end);
    const version = body.map((line) => /^\s*version\s*=\s*"([^"]+)"/.exec(line)?.[1]).find(Boolean);
    const list = hashLines(lines, { address, start, end });
    const hashes = lines
      .slice(list?.start, list?.end)
      .flatMap((line) => /^\s*"([a-z0-9]+:[^"]+)",?\s*$/.exec(line)?.[1] ?? []);
    if (version === undefined) return [];
    const isOpen = isPlain && !body.some((line) => line.includes("hashes"));
    return { address, version, hashes: list ? hashes : [], isOpen };
  });
}

/**
 * Whether the file has nothing but comments and blocks in terraform's own layout. In another file,
 * hashes may be where `readLock` does not look for them.
 */
export function isPlainLock(text: string): boolean {
  let within: Part = "file";
  for (const line of text.split("\n")) {
    const next: Layout | undefined = layout[within].find(([pattern]) => pattern.test(line));
    if (!next) return false;
    within = next[1];
  }
  return within === "file";
}

type Part = "file" | "block" | "hashes";
type Layout = readonly [line: RegExp, next: Part];

/** The lines of each part of the file, and the part that follows. */
const layout: Readonly<Record<Part, readonly Layout[]>> = {
  file: [
    [/^(?:#.*)?$/, "file"],
    [/^provider "[^"\\$%]+" \{$/, "block"],
  ],
  block: [
    [/^ +(?:version|constraints) += "[^"\\$%]+"$/, "block"],
    [/^ +hashes += \[$/, "hashes"],
    [/^\}$/, "file"],
  ],
  hashes: [
    [/^ +"[a-z0-9]+:[\w+/=-]+",$/, "hashes"],
    [/^ +\]$/, "block"],
  ],
};

/** Returns the file with these hashes, in terraform's order and layout. */
export function withHashes(text: string, changes: ReadonlyMap<string, readonly string[]>): string {
  const lines = text.split("\n");
  // From the end, so that the line numbers of earlier blocks stay right.
  for (const block of blocksOf(lines).toReversed()) {
    const hashes = changes.get(block.address);
    if (!hashes) continue;
    const list = hashLines(lines, block);
    const entries = [...new Set(hashes)].toSorted().map((hash) => `    "${hash}",`);
    if (list) lines.splice(list.start, list.end - list.start, ...entries);
    else if (!lines.slice(block.start, block.end).some((line) => line.includes("hashes")))
      lines.splice(block.end, 0, "  hashes = [", ...entries, "  ]");
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

/**
 * Returns the address from which OpenTofu takes a provider of terraform's registry. Only those of
 * `hashicorp` are the same there: the OpenTofu project builds them under the same versions.
 */
export function inOpenTofu(address: string): string | undefined {
  const [, type] = /^registry\.terraform\.io\/hashicorp\/([\w-]{1,64})$/.exec(address) ?? [];
  return type === undefined ? undefined : `registry.opentofu.org/hashicorp/${type}`;
}

/**
 * Adds what `tofu init` does since 1.10: for each provider of `hashicorp` in terraform's registry
 * one in OpenTofu's, in the same version and without hashes, because the packages differ. The old
 * ones stay: a module may name them. Returns the added ones too.
 */
export function forOpenTofu(text: string): { lock: string; added: LockedProvider[] } {
  // In blocks of any layout.
  const named = new Set(text.match(/"registry\.opentofu\.org\/[^"\n]*"/g));
  const added = readLock(text).flatMap(({ address, version }) => {
    const other = inOpenTofu(address);
    const isThere = other === undefined || named.has(JSON.stringify(other));
    return isThere || version.length > 64
      ? []
      : { address: other, version, hashes: [], isOpen: true };
  });
  const blocks = added.map(
    ({ address, version }) =>
      // Engines refuse an empty list.
      `\nprovider "${address}" {\n  version = "${version}"\n}\n`,
  );
  const isEnded = blocks.length === 0 || text.endsWith("\n");
  return { lock: [text, ...(isEnded ? [] : ["\n"]), ...blocks].join(""), added };
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
