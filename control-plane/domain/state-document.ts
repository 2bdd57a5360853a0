/**
 * Reads what matters of a terraform state while it passes: serial, lineage, how many resources it records. A state may have 64 MiB, which
 * `JSON.parse` needs whole, as text and as objects; this reader keeps nothing and takes 0.2 ms per 64 KiB. Anything that is not one JSON
 * object is refused.
 */
import { Refusal } from "../problem.ts";

export interface StateSummary {
  readonly serial: number;
  readonly lineage: string;
  /** Entries of `resources`. */
  readonly resources: number;
}

/** Deeper than any real state; bounds what a hostile one costs. */
const depthLimit = 500;
/** Longest number, and longest text of a field that is kept. */
const tokenLimit = 400;

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [braceOpen, braceClose, bracketOpen, bracketClose] = [0x7b, 0x7d, 0x5b, 0x5d];

/** What may come next, besides white space. */
type Expecting = "value" | "value or ]" | "key" | "key or }" | ":" | ", or end" | "nothing";

/** A reader of one document: `push` its bytes in any pieces, then `end`. */
export class StateDocumentReader {
  #expecting: Expecting = "value";
  /** One closing bracket per open object or array. */
  readonly #open: number[] = [];
  #isInString = false;
  #isEscaped = false;
  #isKey = false;
  /** The text of the string or literal being read, as far as it may matter. */
  #token: number[] = [];
  #isInLiteral = false;
  /** The key of the outermost object whose value is being read, and what came of those that matter. */
  #field = "";
  readonly #fields = new Map<string, unknown>();
  #resources = 0;

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (this.#isInString) at = this.#string(chunk, at);
      else if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) this.#endLiteral();
      else this.#structure(byte);
    }
  }

  /** The summary of a whole document. Throws a refusal for what is no terraform state. */
  end(): StateSummary {
    this.#endLiteral();
    const [serial, lineage] = [this.#fields.get("serial"), this.#fields.get("lineage")];
    if (this.#expecting !== "nothing") throw noState("it is cut off");
    // A state that OpenTofu encrypted has a version of its encryption instead ("v0").
    const isVersioned =
      Number.isInteger(this.#fields.get("version")) ||
      typeof this.#fields.get("encryption_version") === "string";
    if (!isVersioned) throw noState("it has no version");
    if (!Number.isSafeInteger(serial) || (serial as number) < 0) throw noState("it has no serial");
    if (typeof lineage !== "string" || lineage === "") throw noState("it has no lineage");
    return { serial: serial as number, lineage, resources: this.#resources };
  }

  /** Reads inside a string from `at`; answers where it stopped. */
  #string(chunk: Uint8Array, at: number): number {
    const from = at;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      at += 1;
    }
    while (at < chunk.length && chunk[at] !== quote) {
      if ((chunk[at] as number) < 0x20) throw noState("a string has a control character");
      at += chunk[at] === backslash ? 2 : 1;
    }
    this.#isEscaped = at > chunk.length;
    if (this.#open.length === 1 && this.#token.length <= tokenLimit)
      this.#token.push(...chunk.subarray(from, Math.min(at, from + tokenLimit + 1)));
    if (at < chunk.length) this.#endString();
    return at;
  }

  #endString(): void {
    this.#isInString = false;
    if (this.#open.length === 1) {
      // One that is longer is none that matters.
      const isKept = this.#token.length <= tokenLimit;
      const text = isKept ? parse(`"${Buffer.from(this.#token).toString()}"`) : null;
      if (this.#isKey) this.#field = String(text);
      else this.#keep(text);
    }
    if (this.#isKey) this.#expecting = ":";
    else this.#endValue();
  }

  #structure(byte: number): void {
    if (byte === comma || byte === braceClose || byte === bracketClose) this.#endLiteral();
    if (this.#isInLiteral) return this.#literal(byte);
    switch (byte) {
      case quote:
        this.#isKey = this.#expecting === "key" || this.#expecting === "key or }";
        if (!this.#isKey) this.#startValue();
        this.#isInString = true;
        this.#token = [];
        return;
      case colon:
        if (this.#expecting !== ":") throw noState("it is no valid JSON");
        this.#expecting = "value";
        return;
      case comma:
        if (this.#expecting !== ", or end") throw noState("it is no valid JSON");
        this.#expecting = this.#open.at(-1) === braceClose ? "key" : "value";
        return;
      case braceOpen:
      case bracketOpen:
        return this.#openBracket(byte);
      case braceClose:
      case bracketClose:
        return this.#closeBracket(byte);
      default:
        this.#startValue();
        this.#isInLiteral = true;
        this.#token = [];
        return this.#literal(byte);
    }
  }

  #openBracket(byte: number): void {
    this.#startValue();
    if (this.#open.length === 0 && byte !== braceOpen) throw noState("it is no object");
    if (this.#open.length >= depthLimit) throw noState("it is too deep");
    if (this.#open.length === 1 && this.#field === "resources") this.#resources = 0;
    this.#open.push(byte === braceOpen ? braceClose : bracketClose);
    this.#expecting = byte === braceOpen ? "key or }" : "value or ]";
  }

  #closeBracket(byte: number): void {
    const mayClose =
      this.#expecting === ", or end" ||
      this.#expecting === (byte === braceClose ? "key or }" : "value or ]");
    if (!mayClose || this.#open.pop() !== byte) throw noState("it is no valid JSON");
    this.#endValue();
  }

  #startValue(): void {
    if (this.#expecting !== "value" && this.#expecting !== "value or ]")
      throw noState("it is no valid JSON");
    if (this.#open.length === 2 && this.#open[1] === bracketClose && this.#field === "resources")
      this.#resources += 1;
  }

  #endValue(): void {
    this.#expecting = this.#open.length === 0 ? "nothing" : ", or end";
  }

  #literal(byte: number): void {
    if (this.#token.push(byte) > tokenLimit) throw noState("it has an endless number");
  }

  #endLiteral(): void {
    if (!this.#isInLiteral) return;
    this.#isInLiteral = false;
    const value = parse(Buffer.from(this.#token).toString());
    if (this.#open.length === 0) throw noState("it is no object");
    if (this.#open.length === 1) this.#keep(value);
    this.#endValue();
  }

  #keep(value: unknown): void {
    if (/^(version|encryption_version|serial|lineage)$/.test(this.#field))
      this.#fields.set(this.#field, value);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw noState("it is no valid JSON");
  }
}

const noState = (why: string): Refusal =>
  new Refusal("bad_request", `the body is not a terraform state: ${why}`);
