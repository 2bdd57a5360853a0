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

/** Fields of a message of the plugin protocol, by their numbers; those that are numbers are left out. */
const messages = `
const varint = (bytes, at) => {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[at++];
    value += (byte & 127) * scale;
    if (byte < 128) return [value, at];
  }
};
const fieldsOf = (bytes) => {
  const found = {};
  for (let at = 0; at < bytes.length;) {
    const [tag, start] = varint(bytes, at);
    const [value, next] = varint(bytes, start);
    const isBytes = (tag & 7) === 2;
    at = isBytes ? next + value : next;
    if (isBytes) found[tag >> 3] = bytes.subarray(next, at);
  }
  return found;
};
const field = (number, content) => {
  const bytes = Buffer.from(content);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
};
// MessagePack: a map of texts; null if there is none.
const mapOf = (bytes) => {
  if (bytes[0] === 0xc0) return null;
  let at = 1;
  const text = () => {
    const head = bytes[at++];
    const length = head === 0xd9 ? bytes[at++] : head & 31;
    return bytes.subarray(at, (at += length)).toString();
  };
  return Object.fromEntries(Array.from({ length: bytes[0] & 15 }, () => [text(), text()]));
};
`;

/** A resource `thing_note`: a text at an address, which it reads, puts and deletes there by HTTP. */
const notes = `
const attribute = (name) => Buffer.concat([field(1, name), field(2, '"string"'), Buffer.from([0x20, 1])]);
const block = Buffer.concat([field(2, attribute("content")), field(2, attribute("url"))]);
const schema = Buffer.concat([
  Buffer.from([0x0a, 2, 0x12, 0]),
  field(2, Buffer.concat([field(1, "thing_note"), field(2, field(2, block))])),
]);
const nothing = field(1, [0xc0]);
const call = (method, url, body) =>
  new Promise((resolve, reject) => {
    const request = require("node:http").request(url, { method }, (response) => {
      let text = "";
      response.on("data", (part) => (text += part)).on("end", () => resolve(response.statusCode === 404 ? null : text));
    });
    request.on("error", reject).end(body);
  });
const calls = {
  GetSchema: async () => schema,
  PrepareProviderConfig: async (message) => message,
  ValidateResourceTypeConfig: async () => Buffer.alloc(0),
  Configure: async () => Buffer.alloc(0),
  UpgradeResourceState: async (message) => field(1, field(2, fieldsOf(fieldsOf(message)[3])[1])),
  PlanResourceChange: async (message) => field(1, fieldsOf(message)[3]),
  ReadResource: async (message) => {
    const { url } = mapOf(fieldsOf(fieldsOf(message)[2])[1]);
    const content = await call("GET", url);
    return field(1, content === null ? nothing : field(2, JSON.stringify({ url, content })));
  },
  ApplyResourceChange: async (message) => {
    const { 2: prior, 3: planned } = fieldsOf(message);
    const wanted = mapOf(fieldsOf(planned)[1]);
    if (wanted) await call("PUT", wanted.url, wanted.content);
    else await call("DELETE", mapOf(fieldsOf(prior)[1]).url);
    return field(1, planned);
  },
};
`;

/**
 * Implements just enough of terraform's plugin protocol for one resource, over a Unix
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
${messages}${notes}
server.on("stream", (stream, { ":path": path }) => {
  stream.on("error", () => undefined);
  const answerOf = calls[path.replace("/tfplugin5.Provider/", "")];
  const parts = [];
  if (answerOf)
    stream.on("data", (part) => parts.push(part)).on("end", async () => answer(stream, await answerOf(Buffer.concat(parts).subarray(5))));
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
