import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
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
import { makeCertificate } from "../../../helpers/certificate.ts";
import { hashicorpFingerprint, hashicorpKey } from "../../../../agent/job/engine/hashicorp-key.ts";
import {
  fakeTerraform,
  makeKey,
  publish,
  signatureOf,
  startMirror,
  sumsPath,
  zipOf,
  zipPath,
  type Key,
  type Mirror,
} from "./release-mirror.ts";

let key: Key;
let root: string;
let mirror: Mirror;
let said: string[];

beforeAll(async () => {
  key = await makeKey();
});
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "windlass-engine-"));
  mirror = await startMirror();
  said = [];
});
afterEach(async () => {
  await mirror.close();
  rmSync(root, { recursive: true, force: true });
});

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
      mirror: `${mirror.url}/`,
      offline: false,
      publicKeys: key.publicKey,
      signal: new AbortController().signal,
      onProgress: (text) => void said.push(text),
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

/** The error's one line. */
async function failure(answer: Promise<unknown>): Promise<string> {
  const error = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  const { message } = error as Error;
  expect(message).not.toContain("\n");
  return message;
}

/** Nothing of a failed or finished download stays. */
const leftovers = (): string[] =>
  readdirSync(cache(), { recursive: true, encoding: "utf8" }).filter((name) =>
    /partial|zip|lock/.test(name),
  );

describe("an engine on the PATH", () => {
  test("is taken if it satisfies the constraint, the first one that does", async () => {
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

  test("may be tofu for opentofu", async () => {
    const file = program("bin/tofu", fakeTerraform("1.10.2"));
    program("bin/terraform", fakeTerraform("1.11.4"));
    expect(await resolve({ engine: "opentofu" })).toEqual({
      engine: "opentofu",
      version: "1.10.2",
      path: file,
    });
  });

  test("that does not run, says nonsense or is a directory is passed over", async () => {
    program("a/terraform", "#!/bin/sh\nexit 1\n");
    program("b/terraform", "#!/bin/sh\necho Terraform v1.0\n");
    program("c/terraform", "\0not a program");
    program("d/terraform/x", "");
    const good = program("e/terraform", fakeTerraform("1.11.4"));
    const path = ["a", "b", "c", "d", "e"].map((name) => join(root, name)).join(delimiter);
    expect((await resolve({}, { path })).path).toBe(good);
  });

  test("that is a script is asked each time, because a version manager may have switched it", async () => {
    program("bin/terraform", fakeTerraform("1.11.4"));
    expect((await resolve()).version).toBe("1.11.4");
    program("bin/terraform", fakeTerraform("1.11.5"));
    expect((await resolve()).version).toBe("1.11.5");
  });

  const real = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((name) => join(name, "terraform"))
    .find((file) => existsSync(file));
  test.skipIf(!real)("that is a binary is asked once", async () => {
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
    const memory = cache("versions.json");
    writeFileSync(memory, readFileSync(memory, "utf8").replace(version, "9.8.7"));
    expect((await resolve({}, { path })).version).toBe("9.8.7");
    writeFileSync(memory, "{ damaged");
    expect((await resolve({}, { path })).version).toBe(version);
  });
});

describe("a download", () => {
  test("is the newest stable version that satisfies, checked, and kept for the next job", async () => {
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

  test("comes when what is on the PATH does not do", async () => {
    program("bin/terraform", fakeTerraform("1.5.7"));
    await publish(mirror, key, [{ version: "1.11.4" }]);
    expect((await resolve({ constraint: "~> 1.11" })).version).toBe("1.11.4");
  });

  test("happens once for several jobs that need it at the same time", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.delay = () => 50;
    const answers = await Promise.all(Array.from({ length: 4 }, () => resolve()));
    expect(new Set(answers.map(({ path }) => path))).toEqual(
      new Set([cache("terraform", "1.11.4", "terraform")]),
    );
    expect(mirror.requests.filter((path) => path.endsWith(".zip"))).toHaveLength(1);
    expect(leftovers()).toEqual([]);
  });

  test("cleans up after an agent that was killed in the middle of one", async () => {
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

  test("says what it does when that takes over a second", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.delay = (path) => (path.endsWith(".zip") ? 1200 : 0);
    await resolve();
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^downloading http.*\/terraform_1\.11\.4_\w+\.zip: \d+\.\d MB so far$/);
  });

  test("is broken off when the job is stopped", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.delay = () => 10_000;
    const stop = new AbortController();
    const answer = failure(resolve({}, { signal: stop.signal }));
    setTimeout(() => stop.abort(new Error("cancelled")), 50);
    expect(await answer).toContain("cancelled");
  });

  test("that breaks off again and again goes on where it was, and is checked as a whole", async () => {
    // Large enough to come in several parts, and random, so that it stays so in the zip.
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

  test("that breaks off begins again when the file is another one by then", async () => {
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

  test("that breaks off is repeated where the mirror knows no parts of files", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    mirror.truncated.set(zipPath("1.11.4"), 100);
    const answer = resolve();
    while (mirror.requests.filter((path) => path.endsWith(".zip")).length < 2)
      await new Promise(setImmediate);
    mirror.truncated.clear();
    expect((await answer).version).toBe("1.11.4");
    expect(mirror.ranges).toEqual([]);
  });
});

describe("nothing is installed", () => {
  const cases: [string, RegExp, () => Promise<unknown> | void][] = [
    [
      "of a zip that was tampered with",
      /does not match its signed checksum/,
      () => {
        mirror.files.set(zipPath("1.11.4"), zipOf({ terraform: "#!/bin/sh\nevil\n" }));
      },
    ],
    [
      "when the checksums were changed",
      /signature of the checksums is not valid/,
      () => {
        const sums = mirror.files.get(sumsPath("1.11.4")) ?? Buffer.alloc(0);
        mirror.files.set(sumsPath("1.11.4"), Buffer.concat([sums, Buffer.from("\n")]));
      },
    ],
    [
      "that another key has signed",
      /signature of the checksums is not valid/,
      async () => {
        const sums = mirror.files.get(sumsPath("1.11.4")) ?? Buffer.alloc(0);
        mirror.files.set(`${sumsPath("1.11.4")}.sig`, await signatureOf(sums, await makeKey()));
      },
    ],
    [
      "without a signature",
      /SHA256SUMS.sig answered 404/,
      () => {
        mirror.files.delete(`${sumsPath("1.11.4")}.sig`);
      },
    ],
    [
      "with a signature that is none",
      /1\.11\.4|signature|Error|could not be downloaded/,
      () => {
        mirror.files.set(`${sumsPath("1.11.4")}.sig`, Buffer.from("nonsense"));
      },
    ],
    [
      "that the checksums do not name",
      /do not name terraform_1\.11\.4_/,
      async () => {
        const sums = Buffer.from(`${"0".repeat(64)}  evil_terraform_1.11.4.zip\n`);
        mirror.files.set(sumsPath("1.11.4"), sums);
        mirror.files.set(`${sumsPath("1.11.4")}.sig`, await signatureOf(sums, key));
      },
    ],
    [
      "when the zip is not there",
      /\.zip answered 404/,
      () => {
        mirror.files.delete(zipPath("1.11.4"));
      },
    ],
    [
      "when the zip always breaks off",
      /could not be downloaded \(.+\)/,
      () => {
        mirror.truncated.set(zipPath("1.11.4"), 100);
      },
    ],
    [
      "when the list of releases is something else",
      /is not a list of releases/,
      () => {
        mirror.files.set("/terraform/index.json", Buffer.from("<html>"));
      },
    ],
    [
      "whose binary says that it is another version",
      /says that it is 1\.11\.5/,
      () => publish(mirror, key, [{ version: "1.11.4", binary: fakeTerraform("1.11.5") }]),
    ],
    [
      "whose binary does not run",
      /does not run on this machine/,
      () => publish(mirror, key, [{ version: "1.11.4", binary: "MZ" }]),
    ],
    [
      "of a zip without the binary",
      /has no file terraform/,
      () => publish(mirror, key, [{ version: "1.11.4", zip: zipOf({ "bin/terraform": "x" }) }]),
    ],
    [
      "of a zip with a path out of it",
      /relative path|could not be downloaded/,
      () =>
        publish(mirror, key, [
          { version: "1.11.4", zip: zipOf({ "../terraform": fakeTerraform("1.11.4") }) },
        ]),
    ],
    [
      "of a zip that is none",
      /could not be downloaded/,
      () => publish(mirror, key, [{ version: "1.11.4", zip: Buffer.from("nonsense") }]),
    ],
    [
      "of a binary that is larger than it says",
      /could not be downloaded \(.*too many bytes.*\)/,
      () =>
        publish(mirror, key, [
          { version: "1.11.4", zip: zipOf({ terraform: "x".repeat(100_000) }, 10) },
        ]),
    ],
  ];
  test.each(cases)("%s", async (_, message, spoil) => {
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

describe("one line says what to do", () => {
  test("when no release satisfies", async () => {
    program("bin/terraform", fakeTerraform("1.5.7"));
    await publish(mirror, key, [{ version: "1.11.4" }, { version: "1.12.0-rc1" }]);
    expect(await failure(resolve({ constraint: "~> 2.0" }))).toBe(
      `terraform ~> 2.0 is not installed (${join(root, "bin/terraform")} is 1.5.7) and could not be downloaded ` +
        `(no release of terraform at ${mirror.url} for ${process.platform}_${process.arch === "x64" ? "amd64" : process.arch} is ~> 2.0 (the newest there is 1.11.4)): ` +
        "install terraform ~> 2.0 and put it on the agent's PATH, or set WINDLASS_ENGINE_MIRROR to an address of terraform releases that this machine can reach",
    );
  });

  test("when the mirror cannot be reached", async () => {
    await mirror.close();
    expect(await failure(resolve())).toMatch(
      /^terraform is not installed and could not be downloaded \(.*ECONNREFUSED.*\): install terraform and put it/,
    );
  });

  test("when downloads are off, and nothing is asked for", async () => {
    await publish(mirror, key, [{ version: "1.11.4" }]);
    expect(await failure(resolve({ constraint: ">= 1.9" }, { offline: true }))).toBe(
      "terraform >= 1.9 is not installed and downloads are off: install terraform >= 1.9 and put it on the agent's PATH, or set WINDLASS_ENGINE_OFFLINE=0",
    );
    expect(mirror.requests).toEqual([]);
  });

  test("for opentofu, which is not downloaded yet", async () => {
    expect(await failure(resolve({ engine: "opentofu", constraint: "~> 1.9" }))).toBe(
      "tofu ~> 1.9 is not installed: install tofu ~> 1.9 and put it on the agent's PATH",
    );
    expect(mirror.requests).toEqual([]);
  });

  test("for a constraint that terraform would not read", async () => {
    expect(await failure(resolve({ constraint: "^1.5" }))).toMatch(
      /^engine_version "\^1\.5" cannot be read/,
    );
  });
});

test("a mirror over https may not redirect to plain http", async () => {
  await publish(mirror, key, [{ version: "1.11.4" }]);
  const certificate = makeCertificate(root);
  const secure = createServer(certificate.tls, (request, response) => {
    response.writeHead(302, { location: `${mirror.url}${request.url}` }).end();
  }).listen(0, "127.0.0.1");
  const before = getCACertificates("default");
  try {
    setDefaultCACertificates([...before, certificate.tls.cert.toString()]);
    await once(secure, "listening");
    const { port } = secure.address() as AddressInfo;
    expect(await failure(resolve({}, { mirror: `https://127.0.0.1:${port}` }))).toMatch(
      /leads to http:\/\/127\.0\.0\.1:\d+, which is not https/,
    );
    expect(existsSync(cache("terraform", "1.11.4", "terraform"))).toBe(false);
  } finally {
    setDefaultCACertificates(before);
    secure.close();
    secure.closeAllConnections();
  }
});

test("the pinned key is HashiCorp's", async () => {
  const pinned = await readKey({ armoredKey: hashicorpKey });
  expect(pinned.getFingerprint().toUpperCase()).toBe(hashicorpFingerprint);
  expect(hashicorpFingerprint).toBe("C874011F0AB405110D02105534365D9472D7468F");
  expect(pinned.isPrivate()).toBe(false);
  await expect(pinned.verifyPrimaryKey(new Date("2029-01-01"))).resolves.toBeUndefined();
});
