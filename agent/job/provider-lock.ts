/** The dependency lock file (`.terraform.lock.hcl`) as terraform and tofu write it. Pure. */

export interface LockedProvider {
  /** `registry.terraform.io/hashicorp/aws`. */
  readonly address: string;
  readonly version: string;
  /** `h1:` of an unpacked package, `zh:` of a zip. */
  readonly hashes: readonly string[];
}

const block = /^provider\s+"([^"\n]+)"\s*\{\n([\s\S]*?)^\}/gm;
const hashList = /^(\s*hashes\s*=\s*\[)[^\]]*\]/m;

/** The providers of a lock file. What cannot be read is left out: then the provider is installed as if there were no cache. */
export function readLock(text: string): LockedProvider[] {
  return [...text.matchAll(block)].flatMap(([, address = "", body = ""]) => {
    const version = /^\s*version\s*=\s*"([^"\n]+)"/m.exec(body)?.[1];
    const list = hashList.exec(body)?.[0] ?? "";
    const hashes = [...list.matchAll(/"([a-z0-9]+:[^"\n]+)"/g)].map(([, hash = ""]) => hash);
    return version === undefined ? [] : { address, version, hashes };
  });
}

/** The lock file with these hashes for one provider, in the order and layout of terraform's own. */
export function withHashes(text: string, address: string, hashes: readonly string[]): string {
  const lines = [...new Set(hashes)].toSorted().map((hash) => `    "${hash}",\n`);
  return text.replace(block, (whole, name: string) =>
    name === address
      ? whole.replace(hashList, (_, head: string) => `${head}\n${lines.join("")}  ]`)
      : whole,
  );
}
