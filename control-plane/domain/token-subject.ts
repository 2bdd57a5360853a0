/** The subject of a token of the issuer. Trust policies compare it, so its form never changes. */
import { subjectLimit, type SubjectForm } from "../../protocol/identity-kinds.ts";
import type { TokenPhase } from "../../protocol/identity-tokens.ts";

export interface SubjectNames {
  /** Null: the personal space of the user `owner_id`. */
  readonly team: string | null;
  readonly owner_id: string;
  readonly zone: string;
  readonly configuration: string;
  readonly identity: string;
}

export function subjectOf(
  { team, owner_id, zone, configuration, identity }: SubjectNames,
  form: SubjectForm,
  phase: TokenPhase,
): string {
  const space = team === null ? `person:${owner_id}` : `team:${encoded(team)}`;
  const about =
    form === "identity"
      ? `identity:${encoded(identity)}`
      : `zone:${encoded(zone)}${form === "zone" ? "" : `:configuration:${encoded(configuration)}`}`;
  return `${space}:${about}:phase:${phase}`;
}

/** `:` separates the parts; the others have a meaning in policies. */
const encoded = (name: string): string =>
  name.replaceAll(/[:%*?$]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** Counts characters, not UTF-16 units. */
export const isTooLong = (subject: string): boolean => Array.from(subject).length > subjectLimit;
