/** A local mirror of terraform releases, with a signing key of its own and real zips. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { crc32, deflateRawSync } from "node:zlib";
import { createMessage, generateKey, readPrivateKey, sign } from "openpgp";
import { listen } from "../network/listen.ts";

/** The name of this platform in releases and providers. */
export const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;

export interface Key {
  readonly publicKey: string;
  readonly privateKey: string;
}

export const makeKey = async (): Promise<Key> =>
  generateKey({ userIDs: [{ name: "test", email: "test@example.test" }], format: "armored" });

/** A program that prints this version. */
export const fakeTerraform = (version: string): string =>
  `#!/bin/sh\n[ "$1 $2" = "version -json" ] && echo '{"terraform_version":"${version}"}'\n`;

export interface Mirror {
  readonly url: string;
  /** The served files by path. Tests change them. */
  readonly files: Map<string, Buffer>;
  readonly requests: string[];
  /** Breaks off each response for the file after this number of bytes. */
  readonly truncated: Map<string, number>;
  /** The `ETag` of every file. Without one, the mirror does not support ranges. */
  validator: string | undefined;
  /** The requested ranges, with the validator. */
  readonly ranges: string[];
  /** Milliseconds before the response for a path. */
  delay(path: string): number;
  close(): Promise<void>;
}

const breakMilliseconds = 100;

export async function startMirror(): Promise<Mirror> {
  const http = createServer((request, response) => {
    const path = request.url ?? "";
    mirror.requests.push(path);
    setTimeout(() => respond(mirror, path, request, response), mirror.delay(path)).unref();
  });
  const listening = await listen(http);
  const mirror: Mirror = {
    url: listening.url,
    files: new Map(),
    requests: [],
    truncated: new Map(),
    ranges: [],
    validator: undefined,
    delay: () => 0,
    close: async () => {
      if (http.listening) await listening[Symbol.asyncDispose]();
    },
  };
  return mirror;
}

function respond(
  mirror: Mirror,
  path: string,
  { headers }: IncomingMessage,
  response: ServerResponse,
): void {
  const file = mirror.files.get(path);
  if (!file) {
    response.writeHead(404).end("no such file");
    return;
  }
  const { validator } = mirror;
  if (headers.range) mirror.ranges.push(`${headers.range} if ${String(headers["if-range"])}`);
  const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
  const isRest = from > 0 && validator !== undefined && headers["if-range"] === validator;
  const content = isRest ? file.subarray(from) : file;
  response.writeHead(isRest ? 206 : 200, {
    "content-length": content.length,
    ...(validator === undefined ? {} : { etag: validator }),
    ...(isRest ? { "content-range": `bytes ${from}-${file.length - 1}/${file.length}` } : {}),
  });
  const truncated = mirror.truncated.get(path);
  if (truncated === undefined || truncated >= content.length) response.end(content);
  else {
    response.write(content.subarray(0, truncated));
    // A client that reads slowly loses received bytes when the connection ends, so it gets time to
    // read.
    setTimeout(() => response.destroy(), breakMilliseconds);
  }
}

export interface Release {
  readonly version: string;
  /** Content of the binary. The default is a program that prints the version. */
  readonly binary?: string;
  readonly zip?: Buffer;
}

/** Adds releases of OpenTofu and the list of them to the mirror, signed with the key. */
export async function publishTofu(
  mirror: Mirror,
  key: Key,
  versions: readonly string[],
): Promise<void> {
  const list: { id: string; files: string[] }[] = [
    { id: "99.0.0", files: ["tofu_99.0.0_plan9_mips.zip"] },
  ];
  for (const id of versions) {
    const [zip, sums] = [`tofu_${id}_${platform}.zip`, `tofu_${id}_SHA256SUMS`];
    const bytes = zipOf({ "README.md": "free", tofu: fakeTerraform(id) });
    const checksums = Buffer.from(`${sha256(bytes)}  ${zip}\n`);
    mirror.files.set(`/v${id}/${zip}`, bytes);
    mirror.files.set(`/v${id}/${sums}`, checksums);
    // One of cosign, which nothing reads.
    mirror.files.set(`/v${id}/${sums}.sig`, Buffer.from("MEUCIQ=="));
    mirror.files.set(`/v${id}/${sums}.gpgsig`, await signatureOf(checksums, key));
    list.push({ id, files: [zip, sums, `${sums}.sig`, `${sums}.gpgsig`] });
  }
  mirror.files.set("/api.json", Buffer.from(JSON.stringify({ versions: list })));
}

/** Adds the releases and the list of them to the mirror, signed with the key. */
export async function publish(
  mirror: Mirror,
  key: Key,
  releases: readonly Release[],
): Promise<void> {
  const [os, arch] = platform.split("_");
  const versions: Record<string, unknown> = {};
  for (const { version, binary = fakeTerraform(version), zip } of releases) {
    versions[version] = {
      version,
      builds: [
        { os, arch },
        { os: "plan9", arch: "mips" },
      ],
    };
    const bytes = zip ?? zipOf({ "LICENSE.txt": "free", terraform: binary });
    const sums = Buffer.from(
      `${"0".repeat(64)}  terraform_${version}_plan9_mips.zip\n${sha256(bytes)}  terraform_${version}_${platform}.zip\n`,
    );
    mirror.files.set(zipPath(version), bytes);
    mirror.files.set(sumsPath(version), sums);
    mirror.files.set(`${sumsPath(version)}.sig`, await signatureOf(sums, key));
  }
  versions["99.0.0"] = { version: "99.0.0", builds: [{ os: "plan9", arch: "mips" }] };
  versions["1.99.0+ent"] = { version: "1.99.0+ent", builds: [{ os, arch }] };
  mirror.files.set(
    "/terraform/index.json",
    Buffer.from(JSON.stringify({ name: "terraform", versions })),
  );
}

export const zipPath = (version: string): string =>
  `/terraform/${version}/terraform_${version}_${platform}.zip`;
export const sumsPath = (version: string): string =>
  `/terraform/${version}/terraform_${version}_SHA256SUMS`;

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

export async function signatureOf(bytes: Buffer, { privateKey }: Key): Promise<Buffer> {
  const signature = await sign({
    message: await createMessage({ binary: new Uint8Array(bytes) }),
    signingKeys: await readPrivateKey({ armoredKey: privateKey }),
    detached: true,
    format: "binary",
  });
  return Buffer.from(signature as Uint8Array);
}

/** A zip with these files, deflated. `claimed` replaces the size of each in the headers. */
export function zipOf(files: Readonly<Record<string, string | Buffer>>, claimed?: number): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const packed = deflateRawSync(content);
    const size = claimed ?? Buffer.byteLength(content);
    // From "version needed" to "extra field length", the same in both headers.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    // The mode of an executable file on Unix.
    rest.writeUInt32LE(0o100755 * 0x1_0000, 6);
    central.push(Buffer.from("PK\x01\x02\x14\x03", "latin1"), common, rest, Buffer.from(name));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  const count = Object.keys(files).length;
  end.writeUInt16LE(count, 4);
  end.writeUInt16LE(count, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, Buffer.from("PK\x05\x06"), end]);
}
