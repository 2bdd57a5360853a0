/** The sensitive values that a configuration had before a claimed job. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { texts } from "../../../common/json-texts.ts";
import { mebibyte } from "../../../common/units.ts";
import { formerSecretBytesLimit, formerSecretsLimit } from "../../../protocol/limits.ts";
import { unsealReadable, type Definition } from "../../domain/snapshot.ts";
import { mapEntries } from "../../domain/snapshot-values.ts";
import { findEarlierValues } from "../../store/claims/earlier-values.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import { findDefined, type SpecRow } from "../../store/configurations/configurations.ts";
import { findSetDefinition } from "../../store/variable-sets/variable-sets.ts";
import { findAttachedSets } from "../variable-sets/attached.ts";
import type { Context } from "../context.ts";
import { wholeText } from "../definitions.ts";
import { untilUnchanged } from "../large-work.ts";

/** How many deployments, and how much of their snapshots, one claim looks at. */
const earlierJobs = 50;
const earlierBytes = 8 * mebibyte;

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
  for await (const { texts, isWhole } of earlierValues(context, spec, id)) {
    found.unshift(texts);
    if (isWhole) break;
  }
  const former = new Set(found.flat());
  if (former.size === 0) return [];
  // A text that is not sensitive any more is shown with the configuration.
  for (const text of textsOf(JSON.parse(present ?? "{}") as Definition)) former.delete(text);
  return withinLimits(former);
}

/** A runner masks each text in several forms, which takes many times its size. */
function withinLimits(secrets: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  let room = formerSecretBytesLimit;
  for (const text of secrets) {
    const bytes = Buffer.byteLength(text);
    if (bytes > room) continue;
    room -= bytes;
    if (kept.push(text) === formerSecretsLimit) break;
  }
  return kept;
}

/**
 * Returns the texts in the sensitive values of a configuration, of its variable sets and of its
 * earlier deployments. A state that a user stores may contain each of them.
 */
export async function findKnownSecrets(
  context: Context,
  spec: Pick<SpecRow, "id" | "zone_id">,
): Promise<string[]> {
  const { id } = spec;
  const { read } = context.store;
  const textsOfRow = (about: string, find: () => Promise<Defined | undefined>) =>
    untilUnchanged(async () => {
      const row = await find();
      return row ? sensitiveTexts(context, await wholeText(read, row.definition), about) : [];
    });
  const known = await textsOfRow(id, () => read.first(findDefined, { id }));
  for (const set of await findAttachedSets(read, spec)) {
    known.push(...(await textsOfRow(set.id, () => read.first(findSetDefinition, { id: set.id }))));
    await nextTurn();
  }
  for await (const { texts } of earlierValues(context, id, "")) known.push(...texts);
  return [...new Set(known)];
}

type Defined = Pick<SpecRow, "definition">;

async function* earlierValues(context: Context, spec: string, job: string) {
  let room = earlierBytes;
  let before = Number.MAX_SAFE_INTEGER;
  for (let n = 0; n < earlierJobs && room > 0; n += 1) {
    const earlier = await context.store.read.first(findEarlierValues, { spec, job, before });
    if (!earlier) return;
    const { id, config_snapshot, claimed_at, is_whole } = earlier;
    const snapshot =
      config_snapshot === null ? null : await wholeText(context.store.read, config_snapshot);
    room -= snapshot?.length ?? 0;
    const texts = snapshot === null ? [] : sensitiveTexts(context, snapshot, id);
    // A snapshot may have megabytes, for which other requests would have to wait one after the other.
    if (snapshot !== null) await nextTurn();
    yield { texts, isWhole: is_whole === 1 };
    before = claimed_at;
  }
}

/** `about`: the id of the configuration or job whose definition it is. */
function sensitiveTexts({ box }: Context, definition: string, about: string): string[] {
  const opened = unsealReadable(JSON.parse(definition) as Definition, box("variables"), about);
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
