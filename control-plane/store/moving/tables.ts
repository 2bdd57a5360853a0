/**
 * Moves all rows from one database to another, table by table.
 *
 * The target is marked before its first row and until its last one is checked, and no server starts
 * on it meanwhile. Each table is filled in one transaction, so a move that was interrupted finds
 * every table either complete or empty. The facts come last, in the transaction that removes the
 * mark.
 */
import { createHash } from "node:crypto";
import { artifactsDirectoryId, backupsFrom, backupsTo, moveMark, movesFrom } from "../facts.ts";
import type { MovedRow, MovedTable, MoveDatabase } from "./database.ts";

const factsTable = { name: "facts", columns: ["name", "value"] } as const;
const blobColumn = ["blob"];

const doneFact = (table: string): string => `${movesFrom}done:${table}`;

/** Returns where the rows came from that an interrupted move has left; undefined: nothing. */
export const findMove = async (to: MoveDatabase): Promise<string | undefined> =>
  (await readFacts(to)).get(moveMark);

/** Returns the name of a table that has rows. A server that was only started leaves nothing. */
export async function findFilled(to: MoveDatabase): Promise<string | undefined> {
  for (const { name } of await to.tables())
    if (name !== factsTable.name && (await to.count(name)) > 0) return name;
  return undefined;
}

export const markMove = (to: MoveDatabase, from: string): Promise<void> =>
  to.change(factsTable.name, () => to.insert(factsTable, [[moveMark, from]]));

export async function countRows(from: MoveDatabase): Promise<number> {
  let rows = 0;
  for (const { name } of await from.tables()) rows += await from.count(name);
  return rows;
}

export interface MovedTables {
  readonly tables: number;
  readonly rows: number;
}

/** Compares each table by number and digests of rows. Throws `MoveError` if they differ. */
export async function moveTables(
  from: MoveDatabase,
  to: MoveDatabase,
  moved: (rows: number) => void,
): Promise<MovedTables> {
  const facts = await readFacts(to);
  const tables = inOrder(await to.tables()).filter(({ name }) => name !== factsTable.name);
  checkTables(await from.tables(), tables);
  let rows = 0;
  for (const table of tables) {
    const source = new RowDigest();
    if (facts.has(doneFact(table.name)))
      for await (const batch of from.rows(table)) source.add(batch);
    else
      await to.change(table.name, async () => {
        for await (const batch of from.rows(table)) {
          await to.insert(table, source.add(batch));
          moved(batch.length);
        }
        const last = await from.lastNumber(table.name);
        if (last !== undefined) await to.setLastNumber(table.name, last);
        await to.insert(factsTable, [[doneFact(table.name), ""]]);
      });
    rows += source.rows;
    await compare(from, to, table, source);
  }
  return { tables: tables.length, rows };
}

/** Copies the facts and removes the mark: from then on servers may start. */
export async function finishMove(from: MoveDatabase, to: MoveDatabase): Promise<void> {
  const facts = [...(await readFacts(from))].filter(
    // What is true of the place and not of the data.
    ([name]) => name !== artifactsDirectoryId && !(name > backupsFrom && name < backupsTo),
  );
  await to.analyze();
  await to.change(factsTable.name, async () => {
    await to.empty(factsTable.name);
    await to.insert(factsTable, facts);
  });
}

export async function* blobNames(
  from: MoveDatabase,
  tables: readonly string[],
): AsyncGenerator<string> {
  for (const name of tables)
    for await (const batch of from.rows({ name, columns: blobColumn }))
      for (const [blob] of batch) if (typeof blob === "string") yield blob;
}

/** The copy is not the same as the source; the message says where. */
export class MoveError extends Error {
  override readonly name = "MoveError";
}

export async function readFacts(side: MoveDatabase): Promise<Map<string, string>> {
  const facts = new Map<string, string>();
  for await (const batch of side.rows(factsTable))
    for (const [name, value] of batch) facts.set(String(name), String(value));
  return facts;
}

function checkTables(source: readonly MovedTable[], target: readonly MovedTable[]): void {
  for (const { name, columns } of target) {
    const found = source.find((table) => table.name === name);
    if (found?.columns.join() !== columns.join())
      throw new MoveError(`the table ${name} does not have the same columns in both databases`);
  }
}

/** Returns tables after those that their rows name. */
function inOrder(tables: readonly MovedTable[]): MovedTable[] {
  const ordered = new Set<MovedTable>();
  const add = (table: MovedTable): void => {
    if (ordered.has(table)) return;
    for (const name of table.references) {
      const named = tables.find((other) => other.name === name);
      if (named && named !== table) add(named);
    }
    ordered.add(table);
  };
  for (const table of tables) add(table);
  return [...ordered];
}

async function compare(
  from: MoveDatabase,
  to: MoveDatabase,
  table: MovedTable,
  source: RowDigest,
): Promise<void> {
  const target = new RowDigest();
  for await (const batch of to.rows(table)) target.add(batch);
  const [before = 0, after = 0] = [
    await from.lastNumber(table.name),
    await to.lastNumber(table.name),
  ];
  if (source.rows === target.rows && source.digest === target.digest && before === after) return;
  throw new MoveError(
    `the table ${table.name} differs: the source has ${source.rows} rows and the target ${target.rows}` +
      (source.rows === target.rows ? ", but not the same ones" : "") +
      ". The source may have been used since the move began. Empty the target (create its database and its place for files anew), then move again",
  );
}

/** The number and the digest of rows, in whatever order they come. */
class RowDigest {
  rows = 0;
  digest = 0n;

  /** Returns the rows, with numbers as every engine stores them. */
  add(batch: readonly MovedRow[]): MovedRow[] {
    return batch.map((row) => {
      // SQLite stores what it is given; no column is meant for fractions.
      const whole = row.map((value) => (typeof value === "number" ? Math.round(value) : value));
      const hash = createHash("sha256").update(JSON.stringify(whole)).digest("hex");
      this.rows += 1;
      this.digest = BigInt.asUintN(256, this.digest + BigInt(`0x${hash}`));
      return whole;
    });
  }
}
