/** The sensitive values that a configuration had before a claimed job. */
import { texts } from "../../../common/json-texts.ts";
import { mebibyte } from "../../../common/units.ts";
import { formerSecretsLimit } from "../../../protocol/limits.ts";
import { unsealReadable, type Definition } from "../../domain/snapshot.ts";
import { mapEntries } from "../../domain/snapshot-values.ts";
import { findEarlierValues } from "../../store/claims/earlier-values.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import type { Context } from "../context.ts";

/** How many deployments, and how much of their snapshots, one claim looks at. */
const earlierJobs = 50;
const earlierBytes = 16 * mebibyte;

/**
 * Returns the texts in sensitive values that the state may still contain and that the claimed job,
 * which is open, has no more: those of the last DEPLOY that succeeded as a whole, and of all that
 * have started since. A provider may store such a value unmarked, and terraform then prints it in
 * the plan that replaces it. A value that cannot be decrypted is left out. The oldest texts come
 * first, because they are the most likely to be in the state.
 */
export async function findFormerSecrets(context: Context, job: ClaimRow): Promise<string[]> {
  const { id, spec_id: spec, deployed_backend, config_snapshot: present } = job;
  // A sensitive value, or the names of sensitive texts. Without one, only a runner that reports no
  // backend can have left something in the state.
  const hasSensitive = present?.includes('"sensitive') === true;
  if (spec === null || (deployed_backend === null && !hasSensitive)) return [];
  const found: string[][] = [];
  let room = earlierBytes;
  let before = Number.MAX_SAFE_INTEGER;
  for (let n = 0; n < earlierJobs && room > 0; n += 1) {
    const earlier = await context.store.read.first(findEarlierValues, { spec, job: id, before });
    if (!earlier) break;
    if (earlier.config_snapshot !== null) {
      room -= earlier.config_snapshot.length;
      found.unshift(sensitiveTexts(context, earlier.config_snapshot, earlier.id));
    }
    if (earlier.is_whole === 1) break;
    before = earlier.claimed_at;
  }
  const former = new Set(found.flat());
  if (former.size === 0) return [];
  // A text that is not sensitive any more is shown with the configuration.
  for (const text of textsOf(JSON.parse(present ?? "{}") as Definition)) former.delete(text);
  return [...former].slice(0, formerSecretsLimit);
}

function sensitiveTexts({ box }: Context, snapshot: string, job: string): string[] {
  const opened = unsealReadable(JSON.parse(snapshot) as Definition, box("variables"), job);
  const found: string[][] = [];
  mapEntries(opened, (entry) => {
    if (entry.sensitive === true) found.push(texts(entry.value));
    return entry;
  });
  return found.flat();
}

const textsOf = ({ variables = {}, environment, backend_config }: Definition): string[] => [
  ...Object.values(variables).flatMap(({ value }) => texts(value)),
  ...texts(environment),
  ...texts(backend_config),
];
