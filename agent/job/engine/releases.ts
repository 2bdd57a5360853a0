/** Where each engine's releases are, how they are laid out and who signs them. */
import type { Engine } from "../../../protocol/configurations.ts";
import { hashicorpKey } from "./hashicorp-key.ts";
import { opentofuKey } from "./opentofu-key.ts";

/** Addresses without a slash at the end; undefined: the public releases. */
export type EngineMirrors = Readonly<Record<Engine, string | undefined>>;

interface Releases {
  /** The setting that names a mirror. */
  readonly setting: string;
  /** The public address of the list, and that of the files. A mirror has both at one address. */
  readonly usual: { readonly list: string; readonly files: string };
  /** The path of the list of releases. */
  readonly list: string;
  /** Returns the versions in the list that have a zip for this platform. */
  versions(list: unknown, platform: string): string[];
  /** The path of a release's files. */
  folder(version: string): string;
  /** What follows the name of the checksums in that of their signature. */
  readonly signature: string;
  /** Armored OpenPGP key. */
  readonly key: string;
}

interface HashicorpList {
  readonly versions: Record<string, { builds?: { os?: string; arch?: string }[] }>;
}
interface OpentofuList {
  readonly versions: { id: string; files?: string[] }[];
}

const hashicorp = "https://releases.hashicorp.com";

export const releases: Readonly<Record<Engine, Releases>> = {
  terraform: {
    setting: "WINDLASS_ENGINE_MIRROR",
    usual: { list: hashicorp, files: hashicorp },
    list: "/terraform/index.json",
    // Editions (`1.2.3+ent`) are other products.
    versions: ({ versions }: HashicorpList, platform) =>
      Object.entries(versions)
        .filter(([name]) => !name.includes("+"))
        .filter(([, { builds }]) => builds?.some(({ os, arch }) => `${os}_${arch}` === platform))
        .map(([name]) => name),
    folder: (version) => `/terraform/${version}`,
    signature: ".sig",
    key: hashicorpKey,
  },
  // https://github.com/opentofu/tofudl/blob/main/MIRROR-SPECIFICATION.md
  opentofu: {
    setting: "WINDLASS_TOFU_MIRROR",
    usual: {
      list: "https://get.opentofu.org/tofu",
      files: "https://github.com/opentofu/opentofu/releases/download",
    },
    list: "/api.json",
    versions: ({ versions }: OpentofuList, platform) =>
      versions
        .filter(({ id, files }) => files?.includes(`tofu_${id}_${platform}.zip`))
        .map(({ id }) => id),
    folder: (version) => `/v${version}`,
    // `.sig` is one of cosign.
    signature: ".gpgsig",
    key: opentofuKey,
  },
};
