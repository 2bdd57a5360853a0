/**
 * Reads what matters of a terraform state while it passes: serial, lineage, how many resources it
 * records, each instance of a `count` or `for_each` as one. A state may have 64 MiB, which
 * `JSON.parse` would need whole, as text and as objects, in one turn of the event loop.
 */
import { JsonScanError, JsonScanner } from "./json-scanner.ts";
import { RefusalError } from "./refusal.ts";

export interface StateSummary {
  readonly serial: number;
  readonly lineage: string;
  /**
   * Instances of managed resources, as terraform counts them; data sources are left out. Null if
   * the state cannot be read: OpenTofu has encrypted it, or it has another format than 4.
   */
  readonly resources: number | null;
}

/** A range of bytes; the end is included. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Deeper than any real state; bounds what a hostile one costs. */
const depthLimit = 500;
const lineageLimit = 400;
/** Members of the document itself. Terraform writes seven, OpenTofu a few more. */
const memberLimit = 1000;

/** `push` takes bytes in any pieces. It and `end` refuse what is no terraform state. */
export class StateDocumentReader {
  readonly #fields = new Map<string, unknown>();
  #members = 0;
  /** Instances in the entries of `resources` that have ended. */
  #resources = 0;
  #isInResources = false;
  /** What the present entry of `resources` counts as; one that does not list instances, as one. */
  #instances = 0;
  #isInInstances = false;
  #isData = false;
  #isInOutputs = false;
  #outputs: Range | undefined;
  readonly #onSerial: ((place: Range) => void) | undefined;
  readonly #scanner = new JsonScanner(
    {
      onPlain: (name, json) => {
        this.#found(name, json);
        if (name === "serial") this.#onSerial?.(this.#scanner.plain);
        if (name === "outputs") this.#outputs = undefined;
      },
      onPart: (name) => {
        this.#found(name, undefined);
        this.#isInOutputs = name === "outputs";
        if (this.#isInOutputs) this.#outputs = { start: this.#scanner.bracket, end: 0 };
        this.#addInstances();
        this.#isInResources = name === "resources";
        if (this.#isInResources) this.#resources = 0;
      },
      onPartEnd: () => {
        if (this.#isInOutputs && this.#outputs)
          this.#outputs = { ...this.#outputs, end: this.#scanner.bracket };
        this.#isInOutputs = false;
      },
      onEntry: () => {
        this.#addInstances();
        if (this.#isInResources) this.#instances = 1;
      },
      entry: {
        onPlain: (name, json) => {
          if (name === "mode") this.#isData = json === '"data"';
        },
        onPart: (name) => {
          this.#isInInstances = name === "instances" && this.#isInResources;
          if (this.#isInInstances) this.#instances = 0;
        },
        onEntry: () => {
          if (this.#isInInstances) this.#instances++;
        },
      },
    },
    depthLimit,
  );

  /** `onSerial` is told where each value of the serial is, once its last byte was pushed. */
  constructor(onSerial?: (place: Range) => void) {
    this.#onSerial = onSerial;
  }

  /** The last value counts if a name comes twice. */
  #found(name: string, json: string | undefined): void {
    this.#members++;
    if (this.#members > memberLimit) throw noState("it has too many members");
    if (fields.has(name)) this.#fields.set(name, json && JSON.parse(json));
  }

  #addInstances(): void {
    if (!this.#isData) this.#resources += this.#instances;
    this.#instances = 0;
    this.#isInInstances = false;
    this.#isData = false;
  }

  push(chunk: Uint8Array): void {
    try {
      this.#scanner.push(chunk);
    } catch (error) {
      throw error instanceof JsonScanError ? noState(error.message) : error;
    }
  }

  get #isReadable(): boolean {
    return this.#fields.get("version") === 4 && !this.#fields.has("encryption_version");
  }

  /** Where the outputs are, of a state that was read to its end; undefined if it is unreadable. */
  get outputs(): Range | undefined {
    return this.#isReadable ? this.#outputs : undefined;
  }

  end(): StateSummary {
    const [serial, lineage] = [this.#fields.get("serial"), this.#fields.get("lineage")];
    if (!this.#scanner.isEnded) throw noState("it is cut off");
    this.#addInstances();
    // A state that OpenTofu encrypted has a version of its encryption instead ("v0").
    const isVersioned =
      Number.isInteger(this.#fields.get("version")) ||
      typeof this.#fields.get("encryption_version") === "string";
    if (!isVersioned) throw noState("it has no version");
    if (!Number.isSafeInteger(serial) || (serial as number) < 0) throw noState("it has no serial");
    if (typeof lineage !== "string" || lineage === "" || lineage.length > lineageLimit)
      throw noState("it has no lineage");
    const resources = this.#isReadable ? this.#resources : null;
    return { serial: serial as number, lineage, resources };
  }
}

const fields = new Set(["version", "encryption_version", "serial", "lineage"]);

const noState = (why: string): RefusalError =>
  new RefusalError("bad_request", `the body is not a terraform state: ${why}`);
