/** Hashes a value of a plan as canonical JSON (RFC 8785), with little memory for one of any size. */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { mebibyte } from "../../../common/units.ts";
import { LargeNumber } from "./large-number.ts";

/** Characters of the JSON. */
const sizeLimit = 256 * mebibyte;
const depthLimit = 200;
/** Characters that are kept before they are hashed, and of one part of a long text. */
const partLength = 65_536;
/** Stands for the workspace. Text of terraform has no such characters. */
const placeholder = "\u0000workspace\u0000";

export interface DigestOptions {
  /** For sensitive values. */
  readonly key: Uint8Array;
  /** The path of the job's workspace, which no other job has. */
  readonly workspace: string;
}

/** The value is too large, or nested too deeply. */
export class NoDigestError extends Error {
  override readonly name = "NoDigestError";
}

export class CanonicalHash {
  readonly #options: DigestOptions;
  readonly #hash: Hash | Hmac;
  readonly #room: { left: number };
  #pending = "";

  constructor(
    options: DigestOptions,
    hash: Hash | Hmac = createHash("sha256"),
    room = { left: sizeLimit },
  ) {
    this.#options = options;
    this.#hash = hash;
    this.#room = room;
  }

  /** Adds a part of the JSON. */
  text(json: string): void {
    this.#room.left -= json.length;
    if (this.#room.left < 0) throw new NoDigestError();
    this.#pending += json;
    if (this.#pending.length < partLength) return;
    this.#hash.update(this.#pending);
    this.#pending = "";
  }

  /** `mark` mirrors the value, with `true` where it is sensitive. */
  value(value: unknown, mark: unknown = false, depth = 0): void {
    if (depth > depthLimit) throw new NoDigestError();
    if (mark === true) {
      const hmac = createHmac("sha256", this.#options.key);
      const hidden = new CanonicalHash(this.#options, hmac, this.#room);
      hidden.value(value, false, depth);
      this.text(`{"sensitive":"${hidden.digest()}"}`);
    } else if (typeof value === "string") this.#string(value);
    else if (value instanceof LargeNumber) this.text(value.toJSON());
    else if (typeof value !== "object" || value === null) this.text(JSON.stringify(value));
    else if (Array.isArray(value)) {
      for (const [index, one] of value.entries()) {
        this.text(index === 0 ? "[" : ",");
        this.value(one, partOf(mark, index), depth + 1);
      }
      this.text(value.length === 0 ? "[]" : "]");
    } else {
      let before = "{";
      for (const [name, one] of Object.entries(value).toSorted(byName)) {
        if (one === undefined) continue;
        this.text(before);
        this.#string(name);
        this.text(":");
        this.value(one, partOf(mark, name), depth + 1);
        before = ",";
      }
      this.text(before === "{" ? "{}" : "}");
    }
  }

  digest(): string {
    return this.#hash.update(this.#pending).digest("hex");
  }

  #string(given: string): void {
    const text = given.replaceAll(this.#options.workspace, placeholder);
    this.text('"');
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = from + partLength;
      // Both halves of a surrogate pair stay in one part.
      if ((text.charCodeAt(to - 1) & 0xfc_00) === 0xd8_00 && to < text.length) to--;
      this.text(JSON.stringify(text.slice(from, to)).slice(1, -1));
    }
    this.text('"');
  }
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]): number =>
  one < other ? -1 : 1;

const partOf = (mark: unknown, name: string | number): unknown =>
  typeof mark === "object" && mark !== null && Object.hasOwn(mark, name)
    ? (mark as Record<string, unknown>)[name]
    : false;
