// @ts-check
/** Which directories of a .tar.gz have terraform files, read as a runner unpacks it. */

/** The limits of a runner (agent/job/source/archive.ts). */
const entriesLimit = 20_000;
const bytesLimit = 512 * 1024 * 1024;

const block = 512;
/** Bytes of the longest name that is read. */
const nameLimit = 65_536;

/**
 * Returns the directories, `.` for the top one, and for each whether terraform reads a file in it;
 * OpenTofu reads one in all of them. Undefined if the archive cannot be read or is too large.
 *
 * @param {ReadableStream<BufferSource>} archive
 * @returns {Promise<Map<string, boolean> | undefined>}
 */
export async function terraformDirectories(archive) {
  /** @type {Map<string, boolean>} */
  const directories = new Map();
  const input = new Input(archive.pipeThrough(new DecompressionStream("gzip")));
  try {
    let long = "";
    for (let entries = 0; entries <= entriesLimit; entries += 1) {
      const header = await input.take(block);
      // A block of zeros is the end.
      if (header[0] === 0) return directories;
      const kind = String.fromCharCode(header[156] ?? 0);
      const size = sizeIn(header);
      const padded = Math.ceil(size / block) * block;
      if (kind === "L" || kind === "x") {
        if (size > nameLimit) return undefined;
        const content = (await input.take(padded)).subarray(0, size);
        long = kind === "L" ? text(content) : (pathIn(content) ?? long);
        continue;
      }
      await input.skip(padded);
      // For all files that follow, without names.
      if (kind === "g") continue;
      if (kind === "0" || kind === "\0" || kind === "7") add(directories, long || nameIn(header));
      long = "";
    }
  } catch {
    // It is not a tar, or cut short: the job will say so.
  } finally {
    await input.close();
  }
  return undefined;
}

/**
 * As terraform-files.ts decides it.
 *
 * @param {Map<string, boolean>} directories
 * @param {string} path
 */
function add(directories, path) {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const name = parts.pop() ?? "";
  if (name.startsWith(".") || !/\.(tf|tofu)(\.json)?$/.test(name)) return;
  const directory = parts.join("/") || ".";
  directories.set(directory, directories.get(directory) === true || /\.tf(\.json)?$/.test(name));
}

/** @param {Uint8Array} header */
function nameIn(header) {
  const isUstar = text(header.subarray(257, 262)) === "ustar";
  const prefix = isUstar ? text(header.subarray(345, 500)) : "";
  return `${prefix === "" ? "" : `${prefix}/`}${text(header.subarray(0, 100))}`;
}

/** @param {Uint8Array} header */
function sizeIn(header) {
  const size = parseInt(text(header.subarray(124, 136)).trim() || "0", 8);
  // A size that is not octal is one of 8 GiB or more.
  if (!Number.isSafeInteger(size) || size < 0) throw new Error("not the header of a tar");
  return size;
}

/**
 * Returns the path in an extended header: lines of `<length> path=<path>`.
 *
 * @param {Uint8Array} content
 */
const pathIn = (content) => /^\d+ path=(.*)$/m.exec(new TextDecoder().decode(content))?.[1];

/**
 * Text up to the first NUL.
 *
 * @param {Uint8Array} bytes
 */
function text(bytes) {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end === -1 ? bytes : bytes.subarray(0, end));
}

/** Bytes of a stream by their number. */
class Input {
  #reader;
  #chunk = new Uint8Array();
  #read = 0;

  /** @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream */
  constructor(stream) {
    this.#reader = stream.getReader();
  }

  /** @param {number} count */
  async take(count) {
    const taken = new Uint8Array(count);
    await this.#each(count, (part, at) => taken.set(part, at));
    return taken;
  }

  /** @param {number} count */
  async skip(count) {
    await this.#each(count, () => {});
  }

  async close() {
    await this.#reader.cancel().catch(() => {});
  }

  /**
   * @param {number} count
   * @param {(part: Uint8Array, at: number) => void} use
   */
  async #each(count, use) {
    for (let at = 0; at < count;) {
      if (this.#chunk.length === 0) await this.#fill();
      const part = this.#chunk.subarray(0, count - at);
      use(part, at);
      at += part.length;
      this.#chunk = this.#chunk.subarray(part.length);
    }
  }

  async #fill() {
    const { done, value } = await this.#reader.read();
    if (done) throw new Error("the archive is cut short");
    this.#chunk = value;
    this.#read += value.length;
    if (this.#read > bytesLimit) throw new Error("the archive is too large");
  }
}
