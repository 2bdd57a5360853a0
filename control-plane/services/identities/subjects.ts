/** Refuses names with which the subject of a token would be too long. */
import { subjectLimit } from "../../../protocol/identity-kinds.ts";
import { subjectFormOf } from "../../domain/cloud-identity.ts";
import { invalid } from "../../domain/refusal.ts";
import { isTooLong, subjectOf } from "../../domain/token-subject.ts";
import type { Queries } from "../../store/db.ts";
import { listSubjects, type SubjectsOf } from "../../store/identities/subjects.ts";

/** After the change, in its transaction. `field`: the one that the user changes. */
export async function checkSubjects(tx: Queries, of: SubjectsOf, field: string): Promise<void> {
  for (const row of await listSubjects(tx, of)) {
    const { configuration, settings } = row;
    const subject = subjectOf(row, subjectFormOf(settings), "apply");
    if (isTooLong(subject))
      throw invalid(
        field,
        `makes the subject of the tokens of the configuration "${configuration}" longer than ${subjectLimit} characters: choose shorter names, or an identity whose \`subject\` names less`,
      );
  }
}
