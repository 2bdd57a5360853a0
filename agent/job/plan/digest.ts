/**
 * The digest of what a plan would apply: SHA-256 of the canonical JSON of
 *
 *     {"changes": [{actions, address, after, after_unknown, before}],
 *      "outputs": {name: {actions, after, after_unknown, before}},
 *      "replace_reasons": {address: reason}}
 *
 * A change has `deposed`, `importing` and `previous_address` too if terraform names them. Numbers
 * have all their digits. In place of a sensitive value stands {"sensitive": HMAC-SHA256 of its
 * canonical JSON}, so that it cannot be guessed.
 */
import { hasMark, type Change } from "./attributes.ts";
import { CanonicalHash, NoDigestError, type DigestOptions } from "./canonical-hash.ts";
import type { ResourceChange } from "./summary.ts";

/** Takes a plan piece by piece, in terraform's order, which is sorted. */
export class PlanDigest {
  readonly #hash: CanonicalHash;
  readonly #reasons: Record<string, string> = {};
  #changes = 0;
  #outputs = 0;
  #isPossible = true;
  #hasUnknown = false;

  constructor(options: DigestOptions) {
    this.#hash = new CanonicalHash(options);
    this.#hash.text('{"changes":[');
  }

  resource({ address, deposed, previous_address, action_reason, change }: ResourceChange): void {
    const importing = change.importing ?? undefined;
    if (isNone(change) && previous_address === undefined && importing === undefined) return;
    this.#add(() => {
      // Outputs come last.
      if (this.#outputs > 0) throw new NoDigestError();
      if (this.#changes++ > 0) this.#hash.text(",");
      this.#change({ address, deposed, importing, previous_address }, change);
      if (action_reason) this.#reasons[[address, deposed].join(" ").trimEnd()] = action_reason;
    });
  }

  output(name: string, change: Change): void {
    if (isNone(change)) return;
    this.#add(() => {
      this.#hash.text(this.#outputs++ > 0 ? "," : '],"outputs":{');
      this.#hash.text(`${JSON.stringify(name)}:`);
      this.#change({}, change);
    });
  }

  /** `digest` is absent if the plan is too large. */
  result(): { digest?: string; has_unknown: boolean } {
    let digest: string | undefined;
    this.#add(() => {
      this.#hash.text(`${this.#outputs > 0 ? "" : '],"outputs":{'}},"replace_reasons":`);
      this.#hash.value(this.#reasons);
      this.#hash.text("}");
      digest = this.#hash.digest();
    });
    return { ...(digest === undefined ? {} : { digest }), has_unknown: this.#hasUnknown };
  }

  #change(names: object, change: Change): void {
    const { actions, before, after, after_unknown, before_sensitive, after_sensitive } = change;
    this.#hasUnknown ||= hasMark(after_unknown);
    this.#hash.value(
      { ...names, actions, after, after_unknown, before },
      { after: after_sensitive, before: before_sensitive },
    );
  }

  #add(part: () => void): void {
    if (!this.#isPossible) return;
    try {
      part();
    } catch (error) {
      if (!(error instanceof NoDigestError)) throw error;
      // Nothing is known of the rest.
      [this.#isPossible, this.#hasUnknown] = [false, true];
    }
  }
}

const isNone = ({ actions }: Change): boolean => actions.every((action) => action === "no-op");
