/**
 * A provider registry on the loopback, over TLS and with signed checksums. It serves a provider
 * that terraform can run.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { readKey } from "openpgp";
import { makeKey, platform, signatureOf, zipOf } from "./release-mirror.ts";
import type { Certificate } from "../network/certificate.ts";

export interface ProviderRegistry extends AsyncDisposable {
  /** `localhost:port`, the first part of a provider's source. */
  readonly host: string;
  readonly requests: string[];
  /** How often a zip was downloaded. */
  downloads(): number;
  /**
   * Offers a version of `team/NAME` and returns the executable. `mark` distinguishes packages of
   * the same version; `rest` is in a second file of the package.
   */
  publish(name: string, version: string, mark?: string, rest?: Buffer): string;
  /**
   * Offers a version of `team/NAME` under this address in a network mirror too, with these hashes.
   * Returns the mirror's own address.
   */
  mirror(address: string, version: string, hashes?: readonly string[]): string;
  /** The package of a version as it is downloaded. */
  zip(name: string, version: string): Buffer;
  /** The `zh:` hashes of all platforms of a version, as in its signed checksums. */
  zipHashes(name: string, version: string): string[];
}

/** Starts a registry without providers. */
export async function startProviderRegistry(certificate: Certificate): Promise<ProviderRegistry> {
  const key = await makeKey();
  const keyId = (await readKey({ armoredKey: key.publicKey })).getKeyID().toHex().toUpperCase();
  const files = new Map<string, () => Buffer | Promise<Buffer>>();
  const versions = new Map<string, string[]>();
  const zips = new Map<string, string[]>();
  const archives = new Map<string, Buffer>();
  const mirrored = new Map<string, Record<string, object>>();
  const requests: string[] = [];
  const json = (value: unknown) => () => Buffer.from(JSON.stringify(value));
  files.set("/.well-known/terraform.json", json({ "providers.v1": "/v1/providers/" }));
  const server = createServer(certificate.tls, (request, response) => {
    const path = request.url ?? "";
    requests.push(`${request.method} ${path}`);
    const file = files.get(path);
    if (!file) return void response.writeHead(404).end();
    void Promise.resolve(file()).then((bytes) =>
      response.writeHead(200, { "content-type": "application/json" }).end(bytes),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    host,
    requests,
    downloads: () => requests.filter((each) => /^GET .*\.zip$/.test(each)).length,
    publish(name, version, mark = "", rest) {
      const executable = `${runnable(certificate)}// ${mark}\n`;
      const program = { [`terraform-provider-${name}_v${version}`]: executable };
      const zip = zipOf(rest ? { ...program, "rest.bin": rest } : program);
      archives.set(`${name} ${version}`, zip);
      const filename = `terraform-provider-${name}_${version}_${platform}.zip`;
      const [os, arch] = platform.split("_");
      const shasum = createHash("sha256").update(zip).digest("hex");
      // The hash of another platform, which is never downloaded but must be in a lock file.
      const other = `terraform-provider-${name}_${version}_plan9_mips.zip`;
      const elsewhere = createHash("sha256").update(`${name}${version}${mark}`).digest("hex");
      zips.set(`${name} ${version}`, [`zh:${shasum}`, `zh:${elsewhere}`]);
      const sums = Buffer.from(`${shasum}  ${filename}\n${elsewhere}  ${other}\n`);
      const base = `/v1/providers/team/${name}`;
      const known = [...(versions.get(name) ?? []), version];
      versions.set(name, known);
      const offered = known.map((each) => ({
        version: each,
        protocols: ["5.0"],
        platforms: [{ os, arch }],
      }));
      files.set(`${base}/versions`, json({ versions: offered }));
      files.set(
        `${base}/${version}/download/${os}/${arch}`,
        json({
          protocols: ["5.0"],
          os,
          arch,
          filename,
          shasum,
          download_url: `https://${host}/files/${filename}`,
          shasums_url: `https://${host}/files/${filename}.sums`,
          shasums_signature_url: `https://${host}/files/${filename}.sums.sig`,
          signing_keys: { gpg_public_keys: [{ key_id: keyId, ascii_armor: key.publicKey }] },
        }),
      );
      files.set(`/files/${filename}`, () => zip);
      files.set(`/files/${filename}.sums`, () => sums);
      files.set(`/files/${filename}.sums.sig`, () => signatureOf(sums, key));
      return executable;
    },
    mirror(address, version, hashes) {
      const name = address.split("/").at(-1);
      const url = `https://${host}/files/terraform-provider-${name}_${version}_${platform}.zip`;
      const archive = { url, ...(hashes && { hashes }) };
      const known = { ...mirrored.get(address), [version]: {} };
      mirrored.set(address, known);
      files.set(`/mirror/${address}/index.json`, json({ versions: known }));
      files.set(`/mirror/${address}/${version}.json`, json({ archives: { [platform]: archive } }));
      return `https://${host}/mirror/`;
    },
    zip: (name, version) => archives.get(`${name} ${version}`) ?? Buffer.alloc(0),
    zipHashes: (name, version) => zips.get(`${name} ${version}`) ?? [],
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * Implements just enough of terraform's plugin protocol to return an empty schema, over a Unix
 * socket in `TMPDIR` whose name is as long as the longest that Go's `os.CreateTemp` creates, as
 * providers built with go-plugin do.
 */
const runnable = ({ tls }: Certificate): string => `#!/usr/bin/env node
const cert = ${JSON.stringify(tls.cert.toString())};
const server = require("node:http2").createSecureServer({ cert, key: ${JSON.stringify(tls.key.toString())} });
const answer = (stream, message) => {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([head, message]));
};
server.on("stream", (stream, { ":path": path }) => {
  stream.on("error", () => undefined);
  if (path === "/tfplugin5.Provider/GetSchema") answer(stream, Buffer.from([0x0a, 2, 0x12, 0]));
  else if (path === "/plugin.GRPCController/Shutdown") process.exit();
  else stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "12" }, { endStream: true });
});
const socket = (process.env.TMPDIR || "/tmp") + "/plugin" + (1e9 + require("node:crypto").randomInt(1e9));
if (Buffer.byteLength(socket) > 107) throw new Error("the path of the socket is too long: " + socket);
server.listen(socket, () => {
  const der = cert.replace(/-----.*-----|\\s|=+/g, "");
  console.log("1|5|unix|" + socket + "|grpc|" + der);
});
`;
