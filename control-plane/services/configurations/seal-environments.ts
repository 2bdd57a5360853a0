/** An earlier release stored environments in clear text; runs before anything is served. */
import { normalized } from "../../domain/snapshot-values.ts";
import { seal, type Definition } from "../../domain/snapshot.ts";
import { environmentsSealed, findFact, setFact } from "../../store/facts.ts";
import {
  definitionsWithEnvironment,
  saveDefinition,
  saveSnapshot,
  snapshotsWithEnvironment,
} from "../../store/configurations/seal-environments.ts";
import type { Context } from "../context.ts";

const rowsPerStep = 200;

/** Plans of such a configuration lose their hash, from which a value could be guessed. */
export async function sealEnvironments(context: Context): Promise<void> {
  const { store } = context;
  if ((await findFact(store.read, environmentsSealed)) !== undefined) return;
  const sealed = (id: string, text: string): string | undefined => {
    const before = JSON.parse(text) as Definition;
    if (!before.environment) return undefined;
    const given = normalized({}, { environment: before.environment });
    const after = JSON.stringify(seal({ ...before, ...given }, context.box("variables"), id));
    return after === text ? undefined : after;
  };
  const all = [
    [definitionsWithEnvironment, saveDefinition],
    [snapshotsWithEnvironment, saveSnapshot],
  ] as const;
  for (const [find, save] of all) {
    let after: string | undefined = "";
    while (after !== undefined) {
      const from: string = after;
      after = await store.write(async (tx) => {
        const rows = await tx.all(find, { after: from, limit: rowsPerStep });
        for (const { id, text } of rows) {
          const changed = sealed(id, text);
          if (changed !== undefined) await save(tx, id, changed);
        }
        return rows.at(-1)?.id;
      });
    }
  }
  await store.write((tx) => setFact(tx, environmentsSealed, String(context.now())));
}
