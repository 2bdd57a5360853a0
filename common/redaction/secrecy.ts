import { texts } from "../json-texts.ts";
import { redactorOf } from "./redactor.ts";

/** Finds secrets in what is not the log. */
export interface Secrecy {
  readonly mask: (text: string) => string;
  /** Whether a JSON value contains a secret, in any form that is masked in the log. */
  readonly hides: (value: unknown) => boolean;
}

export function secrecyOf(secrets: readonly string[]): Secrecy {
  const { redact, finds } = redactorOf(secrets);
  return {
    mask: (text) => redact(Buffer.from(text)),
    // Each text by itself, because JSON escapes the line breaks in it, and everything together,
    // with the names and numbers.
    hides: (value) =>
      texts(value).some((text) => finds(Buffer.from(text))) ||
      finds(Buffer.from(JSON.stringify(value) ?? "")),
  };
}
