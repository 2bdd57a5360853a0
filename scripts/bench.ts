/**
 * Runs the files of bench/ one after another, because figures of concurrent ones mean nothing.
 * Words choose files by their names.
 *
 * `--check` compares the figures with those of bench/recorded.json and fails if one has fallen
 * back; `--record` writes the figures there.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeLosses, compareFigures, nameOf, type Recorded } from "../bench/lib/check.ts";
import { handingTo, median } from "../bench/lib/table.ts";

const folder = join(import.meta.dirname, "../bench");
const recordedFile = join(folder, "recorded.json");
/** How often a bench runs that is recorded, or that seems to have fallen back. */
const repeats = 3;

const words = process.argv.slice(2);
const [isCheck, isRecord] = [words.includes("--check"), words.includes("--record")];
const wanted = words.filter((word) => !word.startsWith("--"));
const recorded = JSON.parse(readFileSync(recordedFile, "utf8")) as Readonly<
  Record<string, readonly Recorded[]>
>;
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".ts"))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .filter((name) => !isCheck || recorded[name] !== undefined)
  .toSorted();

if (files.length === 0) {
  console.error(
    `There is no ${isCheck ? "recorded " : ""}bench/*.ts${wanted.length > 0 ? ` named like ${wanted.join(", ")}` : ""}.`,
  );
  process.exit(2);
}

/** Runs a bench and returns its figures; undefined if it did not finish. */
function run(name: string): Recorded[] | undefined {
  console.log(`\n# ${name}\n`);
  const directory = mkdtempSync(join(tmpdir(), "windlass-figures-"));
  const file = join(directory, "figures.jsonl");
  try {
    writeFileSync(file, "");
    const { status } = spawnSync(process.execPath, [join(folder, name)], {
      stdio: "inherit",
      env: handingTo(file),
    });
    if (status !== 0) return undefined;
    const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Recorded);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Undefined if a run did not finish. */
function runsOf(name: string): Recorded[][] | undefined {
  const runs: Recorded[][] = [];
  const isDoubtful = () =>
    isCheck &&
    compareFigures(recorded[name] ?? [], runs).some(({ hasFallenBack }) => hasFallenBack);
  do {
    const figures = run(name);
    if (figures === undefined) return undefined;
    runs.push(figures);
  } while (runs.length < repeats && (isRecord || runs.length > 1 || isDoubtful()));
  return runs;
}

/** The medians of some runs. */
const mediansOf = (runs: readonly Recorded[][]): Recorded[] =>
  (runs[0] ?? []).map((figure) => {
    const same = runs.flat().filter((other) => nameOf(other) === nameOf(figure));
    return { ...figure, value: Number(median(same.map(({ value }) => value)).toPrecision(3)) };
  });

const failed: string[] = [];
const medians: Record<string, readonly Recorded[]> = { ...recorded };
for (const name of files) {
  const runs = runsOf(name);
  if (runs === undefined) failed.push(`${name} did not finish.`);
  else if (isCheck) failed.push(...describeLosses(compareFigures(recorded[name] ?? [], runs)));
  else medians[name] = mediansOf(runs);
}
if (isRecord) writeFileSync(recordedFile, `${JSON.stringify(medians, null, 2)}\n`);
if (failed.length > 0) {
  console.error(`\n${failed.join("\n")}`);
  process.exit(1);
}
