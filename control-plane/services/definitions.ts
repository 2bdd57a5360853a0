/**
 * Where definitions are stored: of configurations, of variable sets and of jobs (their snapshots).
 * Large ones are written before the transaction that names them, so that it has little to write, and
 * other changes do not wait for it: on PostgreSQL a definition of 5 MiB takes 50 to 200 ms.
 */
import { v7 as uuid } from "uuid";
import { hour } from "../../common/units.ts";
import { isUncertain } from "../domain/storage-troubles.ts";
import type { Queries } from "../store/db.ts";
import {
  findDefinition,
  findLooseDefinitions,
  insertDefinition,
  removeLooseDefinition,
} from "../store/definitions/definitions.ts";
import { asSystem } from "../store/spaces.ts";
import type { StoredJson } from "../store/tables.ts";
import type { Context } from "./context.ts";
import { ChangedMeanwhileError, inTurn, largeBytes } from "./large-work.ts";

export interface SealedText {
  readonly text: string;
  readonly short: object;
}

/** `short` lacks the fields that may be large. */
export function sealedText(sealed: {
  readonly source?: object;
  readonly [name: string]: unknown;
}): SealedText {
  const {
    variables: _variables,
    environment: _environment,
    backend_config: _backend,
    set_variables: _names,
    ...rest
  } = sealed;
  const { files: _files, ...source } = (rest.source ?? {}) as { files?: object };
  return { text: JSON.stringify(sealed), short: rest.source ? { ...rest, source } : rest };
}

export interface Writing {
  readonly definition: StoredJson;
  readonly definition_id: string | null;
}

type Parts = Pick<Context, "store" | "now">;

/** No transaction takes nearly as long to name a definition that was written before it. */
const youngMilliseconds = hour;

/** `about`: the id of the configuration, set or job. `change` gets the columns to write. */
export async function writingOf<T>(
  context: Parts,
  about: string,
  sealed: SealedText,
  change: (writing: Writing) => Promise<T>,
): Promise<T> {
  const { text, short } = sealed;
  if (text.length <= largeBytes) return change(inRow(sealed));
  const { store, now } = context;
  const id = uuid();
  const row = { id, about, bytes: Buffer.byteLength(text), content: text };
  await asSystem(() => store.ahead((tx) => insertDefinition(tx, row, now() + youngMilliseconds)));
  try {
    const definition = storedJson(JSON.stringify({ definition_id: id, ...short }));
    const result = await change({ definition, definition_id: id });
    // The change is stored, so a failure here is no error: retention repeats the removal.
    await removeLoose(context).catch(() => undefined);
    return result;
  } catch (error) {
    if (!isUncertain(error)) await remove(context, id).catch(() => undefined);
    throw error;
  }
}

/** A definition that was sealed for a row of this version. */
interface Draft {
  readonly before: { readonly version: number };
  readonly sealed: SealedText;
}

/**
 * Returns the draft and its writing if the row still has the same version. Otherwise makes a small
 * draft again in the transaction, and throws ChangedMeanwhileError for a large one.
 */
export async function currentDraft<D extends Draft>(
  draft: D,
  writing: Writing,
  version: number | undefined,
  again: () => Promise<D | undefined>,
): Promise<{ readonly draft: D; readonly writing: Writing } | undefined> {
  if (draft.before.version === version) return { draft, writing };
  const made = writing.definition_id === null ? await again() : draft;
  if (!made) return undefined;
  if (made.sealed.text.length > largeBytes) throw new ChangedMeanwhileError();
  return { draft: made, writing: inRow(made.sealed) };
}

/** About how long a definition of so many bytes is before or after a change. */
export const lengthOf = (bytes: number, change: unknown): number =>
  bytes + (typeof change === "function" ? 0 : JSON.stringify(change).length);

const inRow = ({ text }: SealedText): Writing => ({
  definition: storedJson(text),
  definition_id: null,
});

/** Writes in a transaction of the system, before which nothing was written for it. */
export async function writingNow(
  { now }: Pick<Context, "now">,
  tx: Queries,
  about: string,
  sealed: SealedText,
): Promise<Writing> {
  const { text, short } = sealed;
  if (text.length <= largeBytes) return inRow(sealed);
  const id = uuid();
  const row = { id, about, bytes: Buffer.byteLength(text), content: text };
  await insertDefinition(tx, row, now() + youngMilliseconds);
  return {
    definition: storedJson(JSON.stringify({ definition_id: id, ...short })),
    definition_id: id,
  };
}

const looseAtOnce = 10;

/** Removes definitions that no row names any more. Returns how many. */
export async function removeLoose(context: Parts): Promise<number> {
  const { store, now } = context;
  return asSystem(async () => {
    const loose = await store.read.all(findLooseDefinitions, { now: now(), limit: looseAtOnce });
    for (const { id } of loose) await remove(context, id);
    return loose.length;
  });
}

const remove = ({ store }: Parts, id: string): Promise<void> =>
  asSystem(() => store.ahead((tx) => removeLooseDefinition(tx, id)));

const pointer = '{"definition_id":"';

export function idIn(stored: StoredJson | string): string | undefined {
  const text = stored as unknown as string;
  return text.startsWith(pointer)
    ? text.slice(pointer.length, text.indexOf('"', pointer.length))
    : undefined;
}

/** Returns the whole text. Throws ChangedMeanwhileError if the row names another one by now. */
export async function wholeText(queries: Queries, stored: StoredJson | string): Promise<string> {
  const id = idIn(stored);
  if (id === undefined) return stored as unknown as string;
  const found = await queries.first(findDefinition, { id });
  if (!found) throw new ChangedMeanwhileError();
  return found.content;
}

/** A large definition waits for its space's turn, without limit: a list's response has begun. */
export const reading = <T>(space: string, stored: StoredJson, read: () => Promise<T>): Promise<T> =>
  inTurn(space, idIn(stored) === undefined ? 0 : 1 + largeBytes, read, Infinity);

/** The parts of a stored definition that are never large. */
export const shortOf = <T extends object>(stored: StoredJson): Partial<T> =>
  JSON.parse(stored as unknown as string) as Partial<T>;

/** Returns what the row contains: the definition, or the id of one and its short fields. */
export const textOf = (stored: StoredJson): string => stored as unknown as string;

export const storedJson = (text: string): StoredJson => text as unknown as StoredJson;
