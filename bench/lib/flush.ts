/** How long the disk takes for a commit that survives a power cut. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";

/** Returns the milliseconds of so many commits of one small row each, one after another. */
export function flushMilliseconds(commits: number): number[] {
  const directory = mkdtempSync(join(tmpdir(), "windlass-flush-"));
  const database = new Database(join(directory, "flush.db"));
  try {
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    database.exec("create table entries (id integer primary key, text text)");
    const insert = database.prepare("insert into entries (text) values (?)");
    return Array.from({ length: commits }, () => {
      const begun = performance.now();
      insert.run("entry");
      return performance.now() - begun;
    });
  } finally {
    database.close();
    rmSync(directory, { recursive: true });
  }
}
