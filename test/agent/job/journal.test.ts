import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openJournal, type Entry } from "../../../agent/job/journal.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";

let folder: string;
folderForEachTest((path) => {
  folder = path;
});

const began = (step: string): Entry => ({ at: "begun", step });

test("a reopened journal has the appended entries in order", async () => {
  const first = openJournal(folder);
  expect(first.entries).toEqual([]);
  first.append(began("init"));
  await first.flush();
  first.append({ at: "done", step: "init", facts: { locked: true } });
  first.close();
  const second = openJournal(folder);
  expect(second.entries.map(({ at }) => at)).toEqual(["begun", "done"]);
  expect(second.find("done", ({ step }) => step === "init")?.facts).toEqual({ locked: true });
  expect(second.find("done", ({ step }) => step === "plan")).toBeUndefined();
  second.close();
});

test.each(["", '{"at":"begun","st', '{"at":"begun","step":"ä'])(
  "an incomplete last line (%j) is ignored and overwritten",
  (torn) => {
    const first = openJournal(folder);
    first.append(began("init"));
    first.close();
    appendFileSync(join(folder, "journal.ndjson"), torn);
    const second = openJournal(folder);
    expect(second.entries).toEqual([began("init")]);
    second.append(began("plan"));
    second.close();
    const third = openJournal(folder);
    expect(third.entries).toEqual([began("init"), began("plan")]);
    third.close();
    expect(readFileSync(join(folder, "journal.ndjson"), "utf8")).not.toContain("ä");
  },
);
