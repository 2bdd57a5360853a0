import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { delimiter, dirname, join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { readKey } from "openpgp";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { usualLimits, type DownloadLimits } from "../../../../agent/job/engine/download.ts";
import {
  resolveEngine,
  type EngineBinary,
  type EngineOptions,
  type EngineWish,
} from "../../../../agent/job/engine/engine.ts";
import { makeCertificate } from "../../../helpers/network/certificate.ts";
import { hashicorpFingerprint, hashicorpKey } from "../../../../agent/job/engine/hashicorp-key.ts";
import { opentofuFingerprint, opentofuKey } from "../../../../agent/job/engine/opentofu-key.ts";
import {
  fakeTerraform,
  makeKey,
  publish,
  publishTofu,
  signatureOf,
  startMirror,
  sumsPath,
  zipOf,
  zipPath,
  type Key,
  type Mirror,
  type Release,
} from "../../../helpers/agent/release-mirror.ts";
import { listen } from "../../../helpers/network/listen.ts";
import { folderForEachTest } from "../../../helpers/machine/folders.ts";

let key: Key;
let root: string;
let mirror: Mirror;
let progress: string[];

beforeAll(async () => {
  key = await makeKey();
});
folderForEachTest((path) => {
  root = path;
});
beforeEach(async () => {
  mirror = await startMirror();
  progress = [];
});
afterEach(() => mirror.close());

const cache = (...names: string[]): string => join(root, "engines", ...names);

function resolve(
  want: Partial<EngineWish> = {},
  options: Partial<EngineOptions> = {},
  limits: Partial<DownloadLimits> = {},
): Promise<EngineBinary> {
  return resolveEngine(
    { engine: "terraform", constraint: null, ...want },
    {
      path: join(root, "bin"),
      network: {},
      cacheDirectory: cache(),
      mirrors: { terraform: mirror.url, opentofu: mirror.url },
      offline: false,
      publicKeys: key.publicKey,
      signal: new AbortController().signal,
      onProgress: (text) => void progress.push(text),
      ...options,
    },
    { ...usualLimits, ...limits },
  );
}

function program(path: string, content: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, { mode: 0o755 });
  return file;
}

/** The message of the error, which must be one line. */
async function failure(resolving: Promise<unknown>): Promise<string> {
  const error = await resolving.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  const { message } = error as Error;
  expect(message).not.toContain("\n");
  return message;
}

/** Files that a download has left behind. */
const leftovers = (): string[] =>
  readdirSync(cache(), { recursive: true, encoding: "utf8" }).filter((name) =>
    /partial|zip|lock/.test(name),
  );

describe("an engine on the PATH", () => {
  test("is used if it satisfies the constraint; the first on the PATH wins", async () => {
    program("a/terraform", fakeTerraform("1.5.7"));
    const second = program("b/terraform", fakeTerraform("1.11.4"));
    program("c/terraform", fakeTerraform("1.12.0"));
    const path = [
      "",
      ".",
      join(root, "missing"),
      join(root, "a"),
      join(root, "b"),
      join(root, "c"),
    ].join(delimiter);
    expect(await resolve({ constraint: "~> 1.9" }, { path })).toEqual({
      engine: "terraform",
      version: "1.11.4",
      path: second,
    });
    expect((await resolve({}, { path })).version).toBe("1.5.7");
    expect(mirror.requests).toEqual([]);
  });

  test("is the program tofu for opentofu", async () => {
    const file = program("bin/tofu", fakeTerraform("1.10.2"));
    program("bin/terraform", fakeTerraform("1.11.4"));
    expect(await resolve({ engine: "opentofu" })).toEqual({
      engine: "opentofu",
      version: "1.10.2",
      path: file,
    });
  });

  test("is skipped when it does not run, prints no version or is a directory", async () => {
    program("a/terraform", "#!/bin/sh\nexit 1\n");
    program("b/terraform", "#!/bin/sh\necho Terraform v1.0\n");
    program("c/terraform", "\0not a program");
    program("d/terraform/x", "");
    const good = program("e/terraform", fakeTerraform("1.11.4"));
    const path = ["a", "b", "c", "d", "e"].map((name) => join(root, name)).join(delimiter);
    expect((await resolve({}, { path })).path).toBe(good);
  });

  test("runs for its version each time if it is a script, as of a version manager", async () => {
    program("bin/terraform", fakeTerraform("1.11.4"));
    expect((await resolve()).version).toBe("1.11.4");
    program("bin/terraform", fakeTerraform("1.11.5"));
    expect((await resolve()).version).toBe("1.11.5");
  });

  const real = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((name) => join(name, "terraform"))
    .find((file) => existsSync(file));
  test("runs for its version once if it is a binary", async ({ skip }) => {
    skip(!real, "not on the PATH: terraform");
    const path = dirname(real ?? "");
    const { version } = await resolve({}, { path });
    expect(version).toBe(
      (
        JSON.parse(
          execFileSync(real ?? "", ["version", "-json"], {
            env: { CHECKPOINT_DISABLE: "1" },
            stdio: ["ignore", "pipe", "ignore"],
            encoding: "utf8",
          }),
        ) as { terraform_version: string }
      ).terraform_version,
    );
    const versions = cache("versions.json");
    writeFileSync(versions, readFileSync(versions, "utf8").replace(version, "9.8.7"));
    expect((await resolve({}, { path })).version).toBe("9.8.7");
    writeFileSync(versions, "{ damaged");
    expect((await resolve({}, { path })).version).toBe(version);
  });
});

describe("a download", () => {
  test("installs the newest stable version that satisfies the constraint, for later jobs too", async () => {
    await publish(mirror, key, [
      { version: "1.9.8" },
      { version: "1.10.5" },
      { version: "1.11.4" },
      { version: "1.12.0-rc1" },
    ]);
    const { version, path } = await resolve({ constraint: ">= 1.9, < 1.11" });
    expect([version, path]).toEqual(["1.10.5", cache("terraform", "1.10.5", "terraform")]);
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(readFileSync(path, "utf8")).toBe(fakeTerraform("1.10.5"));
    expect(leftovers()).toEqual([]);
    expect((await resolve()).version).toBe("1.10.5");
    const count = mirror.requests.length;
    expect((await resolve({ constraint: "~> 1.10.0" })).path).toBe(path);
    expect(mirror.requests.length).toBe(count);
    expect((await resolve({ constraint: "> 1.10.5" })).version).toBe("1.11.4");
    expect((await resolve({ constraint: "1.12.0-rc1" })).version).toBe("1.12.0-rc1");
  });

  test("starts when the engine on the PATH does not satisfy the constraint", async () => {
    program("bin/terraform", fakeTerraform("1.5.7"));
    await publish(mirror, key, [{ version: "1.11.4" }]);
    expect((await resolve({ constraint: "~> 1.11" })).version).toBe("1.11.4");
  });

  test("runs once for several jobs that need it at the same time", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.delay = () => 50;
    const engines = await Promise.all(Array.from({ length: 4 }, () => resolve()));
    expect(new Set(engines.map(({ path }) => path))).toEqual(
      new Set([cache("terraform", "1.11.4", "terraform")]),
    );
    expect(mirror.requests.filter((path) => path.endsWith(".zip"))).toHaveLength(1);
    expect(leftovers()).toEqual([]);
  });

  test("cleans up after an agent that was killed during a download", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mkdirSync(cache("terraform", "1.11.4", ".partial-x"), { recursive: true });
    writeFileSync(
      cache("terraform", "1.11.4", ".partial-x", "terraform"),
      fakeTerraform("1.11.4"),
      { mode: 0o755 },
    );
    writeFileSync(
      cache("terraform", "1.11.4", "lock"),
      '{"pid":999999999,"start":"1","boot":null}\n',
    );
    expect((await resolve()).version).toBe("1.11.4");
    expect(leftovers()).toEqual([]);
  });

  test("reports its progress after a second", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.delay = (path) => (path.endsWith(".zip") ? 1200 : 0);
    await resolve();
    expect(progress).toHaveLength(1);
    expect(progress[0]).toMatch(
      /^downloading http.*\/terraform_1\.11\.4_\w+\.zip: \d+\.\d MB so far$/,
    );
  });

  test("ends when the job is stopped", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.delay = () => 10_000;
    const stop = new AbortController();
    const message = failure(resolve({}, { signal: stop.signal }));
    setTimeout(() => stop.abort(new Error("cancelled")), 50);
    expect(await message).toContain("cancelled");
  });

  test("resumes where it broke off each time, and verifies the whole file", async () => {
    // Large enough to arrive in several parts, and random, so that the zip is as large.
    const ballast = randomBytes(300_000).toString("base64");
    await publish(mirror, key, [
      { version: "1.11.4", binary: `${fakeTerraform("1.11.4")}# ${ballast}\n` },
    ]);
    mirror.validator = '"a"';
    const { length } = mirror.files.get(zipPath("1.11.4")) ?? "";
    mirror.truncated.set(zipPath("1.11.4"), Math.ceil(length / 4.5));
    expect((await resolve()).version).toBe("1.11.4");
    const from = mirror.ranges.map((range) => Number(/^bytes=(\d+)- if "a"$/.exec(range)?.[1]));
    expect(from.length).toBeGreaterThanOrEqual(4);
    expect(from.every((byte, index) => byte > (from[index - 1] ?? 0))).toBe(true);
    expect(leftovers()).toEqual([]);
  });

  test("starts again when the file has changed since it broke off", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.validator = '"old"';
    mirror.truncated.set(zipPath("1.11.4"), 100);
    const right = mirror.files.get(zipPath("1.11.4")) ?? Buffer.alloc(0);
    mirror.files.set(zipPath("1.11.4"), Buffer.alloc(right.length, "x"));
    mirror.delay = (path) => {
      if (path !== zipPath("1.11.4") || mirror.requests.filter((one) => one === path).length < 2)
        return 0;
      mirror.files.set(path, right);
      mirror.truncated.clear();
      mirror.validator = '"new"';
      return 0;
    };
    expect((await resolve()).version).toBe("1.11.4");
    expect(mirror.ranges).toEqual(['bytes=100- if "old"']);
  });

  test("starts again when the mirror does not support ranges", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.truncated.set(zipPath("1.11.4"), 100);
    const engine = resolve();
    while (mirror.requests.filter((path) => path.endsWith(".zip")).length < 2)
      await new Promise(setImmediate);
    mirror.truncated.clear();
    expect((await engine).version).toBe("1.11.4");
    expect(mirror.ranges).toEqual([]);
  });
});

describe("an engine is not installed", () => {
  const [zip, sums] = [zipPath("1.11.4"), sumsPath("1.11.4")];
  const put = (path: string, content: string | Buffer) =>
    void mirror.files.set(path, Buffer.from(content));
  const contentOf = (path: string) => mirror.files.get(path) ?? Buffer.alloc(0);
  const release = (more: Partial<Release>) =>
    publish(mirror, key, [{ version: "1.11.4", ...more }]);
  const changed = zipOf({ terraform: "#!/bin/sh\nevil\n" });
  const outside = zipOf({ "../terraform": fakeTerraform("1.11.4") });
  const badSignature = /signature of the checksums is not valid/;
  const cases: [string, RegExp, () => Promise<unknown> | void | boolean][] = [
    ["the zip was changed", /does not match its signed checksum/, () => put(zip, changed)],
    [
      "the checksums were changed",
      badSignature,
      () => put(sums, `${contentOf(sums).toString()}\n`),
    ],
    [
      "another key signed the checksums",
      badSignature,
      async () => put(`${sums}.sig`, await signatureOf(contentOf(sums), await makeKey())),
    ],
    [
      "the signature is missing",
      /SHA256SUMS.sig responded with status 404/,
      () => mirror.files.delete(`${sums}.sig`),
    ],
    [
      "the signature is not readable",
      /1\.11\.4|signature|Error|could not be downloaded/,
      () => put(`${sums}.sig`, "nonsense"),
    ],
    [
      "the checksums do not name the zip",
      /do not name terraform_1\.11\.4_/,
      async () => {
        put(sums, `${"0".repeat(64)}  evil_terraform_1.11.4.zip\n`);
        put(`${sums}.sig`, await signatureOf(contentOf(sums), key));
      },
    ],
    ["the zip is missing", /\.zip responded with status 404/, () => mirror.files.delete(zip)],
    [
      "the download of the zip always breaks off",
      /could not be downloaded \(.+\)/,
      () => void mirror.truncated.set(zip, 100),
    ],
    [
      "the list of releases is not JSON",
      /is not a list of releases/,
      () => put("/terraform/index.json", "<html>"),
    ],
    [
      "the binary has another version",
      /reports version 1\.11\.5/,
      () => release({ binary: fakeTerraform("1.11.5") }),
    ],
    ["the binary does not run", /does not run on this machine/, () => release({ binary: "MZ" })],
    [
      "the zip has no binary",
      /has no file terraform/,
      () => release({ zip: zipOf({ "bin/terraform": "x" }) }),
    ],
    [
      "a path leads out of the zip",
      /relative path|could not be downloaded/,
      () => release({ zip: outside }),
    ],
    [
      "the zip is not a zip file",
      /could not be downloaded/,
      () => release({ zip: Buffer.from("nonsense") }),
    ],
    [
      "the binary is larger than the zip says",
      /could not be downloaded \(.*too many bytes.*\)/,
      () => release({ zip: zipOf({ terraform: "x".repeat(100_000) }, 10) }),
    ],
  ];
  test.each(cases)("when %s", async (_, message, spoil) => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    await spoil();
    const line = await failure(resolve({ constraint: "~> 1.11" }));
    expect(line).toMatch(message);
    expect(line).toMatch(
      /install terraform ~> 1\.11 and put it on the agent's PATH, or set WINDLASS_ENGINE_MIRROR/,
    );
    expect(existsSync(cache("terraform", "1.11.4", "terraform"))).toBe(false);
    expect(existsSync(join(root, "terraform"))).toBe(false);
    expect(existsSync(cache()) ? leftovers() : []).toEqual([]);
  });

  test.each([
    ["index", { index: 100 }],
    ["zip", { zip: 100 }],
    ["binary", { binary: 20 }],
  ])("when the %s is larger than its limit", async (_, limits) => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    expect(await failure(resolve({}, {}, limits))).toMatch(/larger than \d+ bytes/);
    expect(existsSync(cache("terraform", "1.11.4", "terraform"))).toBe(false);
  });
});

describe("a download of OpenTofu", () => {
  const tofu = { engine: "opentofu" as const };

  test("installs the newest version from a mirror with the layout of tofudl's", async () => {
    await publish(mirror, key, [{ version: "1.12.0" }]);
    await publishTofu(mirror, key, ["1.10.2", "1.9.1", "1.11.0-rc1"]);
    expect(await resolve(tofu)).toEqual({
      engine: "opentofu",
      version: "1.10.2",
      path: cache("tofu", "1.10.2", "tofu"),
    });
    expect((await resolve({ ...tofu, constraint: "< 1.10" })).version).toBe("1.9.1");
    expect(leftovers()).toEqual([]);
  });

  test("accepts each key of a file with several", async () => {
    await publishTofu(mirror, key, ["1.10.2"]);
    const publicKeys = `${(await makeKey()).publicKey}\n${key.publicKey}`;
    expect((await resolve(tofu, { publicKeys })).version).toBe("1.10.2");
  });

  test("fails if another key signed the checksums", async () => {
    await publishTofu(mirror, await makeKey(), ["1.10.2"]);
    expect(await failure(resolve({ ...tofu, constraint: "~> 1.10" }))).toMatch(
      /^tofu ~> 1\.10 is not installed and could not be downloaded \(the signature of the checksums is not valid.*\): install tofu ~> 1\.10 and put it on the agent's PATH, or set WINDLASS_TOFU_MIRROR to an address of tofu releases/,
    );
    expect(existsSync(cache("tofu", "1.10.2", "tofu"))).toBe(false);
  });
});

describe("the error says in one line what to do", () => {
  test("when no release satisfies the constraint", async () => {
    program("bin/terraform", fakeTerraform("1.5.7"));
    await publish(mirror, key, [{ version: "1.11.4" }, { version: "1.12.0-rc1" }]);
    expect(await failure(resolve({ constraint: "~> 2.0" }))).toBe(
      `terraform ~> 2.0 is not installed (${join(root, "bin/terraform")} is 1.5.7) and could not be downloaded ` +
        `(no release of terraform at ${mirror.url} for ${process.platform}_${process.arch === "x64" ? "amd64" : process.arch} is ~> 2.0 (the newest one there is 1.11.4)): ` +
        "install terraform ~> 2.0 and put it on the agent's PATH, or set WINDLASS_ENGINE_MIRROR to an address of terraform releases that this machine can reach",
    );
  });

  test("when the mirror cannot be reached", async () => {
    await mirror.close();
    expect(await failure(resolve())).toMatch(
      /^terraform is not installed and could not be downloaded \(.*ECONNREFUSED.*\): install terraform and put it/,
    );
  });

  test("when downloads are off, without a request to the mirror", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    expect(await failure(resolve({ constraint: ">= 1.9" }, { offline: true }))).toBe(
      "terraform >= 1.9 is not installed and downloads are off: install terraform >= 1.9 and put it on the agent's PATH, or set WINDLASS_ENGINE_OFFLINE=0",
    );
    expect(mirror.requests).toEqual([]);
  });

  test("for a constraint that terraform does not accept", async () => {
    expect(await failure(resolve({ constraint: "^1.5" }))).toMatch(
      /^engine_version "\^1\.5" is not valid/,
    );
  });
});

test("a mirror over https must not redirect to plain http", async () => {
  await publish(mirror, key, [{ version: "1.11.4" }]);
  const certificate = makeCertificate(root);
  const secure = createServer(certificate.tls, (request, response) => {
    response.writeHead(302, { location: `${mirror.url}${request.url}` }).end();
  });
  const before = getCACertificates("default");
  try {
    setDefaultCACertificates([...before, certificate.tls.cert.toString()]);
    await using listening = await listen(secure);
    const { port } = listening;
    expect(
      await failure(
        resolve({}, { mirrors: { terraform: `https://127.0.0.1:${port}`, opentofu: undefined } }),
      ),
    ).toMatch(/redirects to http:\/\/127\.0\.0\.1:\d+, which is not https/);
    expect(existsSync(cache("terraform", "1.11.4", "terraform"))).toBe(false);
  } finally {
    setDefaultCACertificates(before);
  }
});

// The key that signed tofu_1.8.5_SHA256SUMS.gpgsig, and the only one in OpenTofu's own tofudl.
test.each([
  ["HashiCorp", hashicorpKey, hashicorpFingerprint, "C874011F0AB405110D02105534365D9472D7468F"],
  ["OpenTofu", opentofuKey, opentofuFingerprint, "E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80"],
])("the pinned key is the release key of %s", async (_, armoredKey, named, published) => {
  const pinned = await readKey({ armoredKey });
  expect(pinned.getFingerprint().toUpperCase()).toBe(named);
  expect(named).toBe(published);
  expect(pinned.isPrivate()).toBe(false);
  await expect(pinned.verifyPrimaryKey(new Date("2029-01-01"))).resolves.toBeUndefined();
});
