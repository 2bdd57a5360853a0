/** Which addresses may be reached at places that users name: webhooks, code hosts, Vault. */
import { lookup as resolve } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { hostIn } from "../../common/network.ts";

/** The destination is not allowed; the message says what would allow it. */
export class DestinationError extends Error {
  override readonly name = "DestinationError";
}

/**
 * Addresses that are not global unicast (IANA's registries of special-purpose addresses), by version:
 * in one list, a network of mapped addresses would contain all of IPv4.
 */
const special = {
  4: listOf(
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
  ),
  // Also mapped, translated and unassigned ones, of which some lead to addresses above.
  6: listOf("::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20"),
} as const;

function listOf(networks: string): BlockList {
  const list = new BlockList();
  for (const network of networks.split(" ")) addNetwork(list, network);
  return list;
}

function addNetwork(list: BlockList, network: string): boolean {
  const [address = "", bits] = network.split("/");
  const version = isIP(address);
  if (!version) return false;
  const length = bits === undefined ? (version === 4 ? 32 : 128) : Number(bits);
  list.addSubnet(address, length, version === 4 ? "ipv4" : "ipv6");
  return true;
}

const contains = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");

export class Destinations {
  readonly #hosts = new Set<string>();
  readonly #networks = new BlockList();

  /** `allowed`: hosts, addresses and networks that may be reached although they are not global. */
  constructor(allowed: readonly string[]) {
    for (const one of allowed)
      if (!addNetwork(this.#networks, one)) this.#hosts.add(one.toLowerCase());
  }

  /** Throws DestinationError for an address in the URL itself; names are judged when they are resolved. */
  check(url: URL): void {
    const host = hostIn(url);
    if (url.protocol !== "https:" && !this.#names(host))
      throw new DestinationError(
        `${url.origin} is not https: the operator can allow it by WINDLASS_OUTBOUND_ALLOW`,
      );
    if (isIP(host)) this.#checkAddress(host, host);
  }

  /** Throws DestinationError for a name of a private network, which something else will resolve. */
  checkName(url: URL): void {
    const host = hostIn(url);
    if (localName.test(host) && !this.#hosts.has(host))
      throw new DestinationError(
        `${host} is no public name: the operator can allow it by WINDLASS_OUTBOUND_ALLOW`,
      );
  }

  /**
   * Resolves a name for a connection, which is made to the address that was judged. A name with one
   * forbidden address is forbidden: which one a later request would get is not known.
   */
  readonly lookup: LookupFunction = (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      try {
        for (const { address } of found) this.#checkAddress(host, address);
      } catch (refusal) {
        return done(refusal as Error, []);
      }
      if (options.all) done(null, found);
      else done(null, found[0]!.address, found[0]!.family);
    });
  };

  #names(host: string): boolean {
    return this.#hosts.has(host) || (isIP(host) > 0 && contains(this.#networks, host));
  }

  #checkAddress(host: string, address: string): void {
    if (this.#hosts.has(host) || contains(this.#networks, address)) return;
    if (contains(special[isIP(address) === 4 ? 4 : 6], address))
      throw new DestinationError(
        `${host === address ? host : `${host} (${address})`} is no public address: the operator can allow it by WINDLASS_OUTBOUND_ALLOW`,
      );
  }
}

/** Names that have no meaning, or another one, outside of a network (RFC 6761, 6762 and 8375). */
const localName = /^[^.:]+$|\.(localhost|local|internal|home\.arpa)$/;
