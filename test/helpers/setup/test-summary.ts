/**
 * A vitest reporter that counts the tests by area and ends with one plain line that a program can
 * read.
 */
import type { Reporter, TestCase, TestModule, TestRunEndReason } from "vitest/node";

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

/** A skipped test, with its reason; "" if it gives none. */
interface NotRun {
  readonly name: string;
  readonly note: string;
}

const none = (): Count => ({ passed: 0, failed: 0, skipped: 0 });

/**
 * What `.ci/run` cannot install. A test that is skipped for this reason stays skipped there too.
 */
const notInstallable =
  /^not on the PATH: bao$|^needs (a container engine|an agent that is not root|a program that (?:go|Maven) installs|a store that encrypts|a running systemd|an OpenTofu binary|a machine whose cgroup v2 )/;

export default class TestSummary implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly unknown[],
    reason: TestRunEndReason,
  ): void {
    const areas = new Map<string, Count>();
    const notRun: NotRun[] = [];
    const retried: string[] = [];
    for (const module of modules) {
      const area = areaOf(module.relativeModuleId);
      areas.set(area, add(areas.get(area) ?? none(), countOf(module, notRun)));
      for (const test of module.children.allTests("passed")) {
        if (!test.diagnostic()?.flaky) continue;
        const [error] = test.result().errors ?? [];
        retried.push(`${nameOf(test)}: ${error?.stack ?? error?.message ?? ""}`);
      }
    }
    const total = [...areas.values()].reduce(add, none());
    total.failed += unhandled.length;
    if (reason === "interrupted") total.failed ||= 1;

    // As root, `.ci/run` installs every tool: there a skipped test has proved nothing.
    const inCi = Boolean(process.env["CI"]) && process.getuid?.() === 0;
    const failures = inCi ? notRun.filter(({ note }) => !notInstallable.test(note)) : [];
    total.failed += failures.length;
    total.skipped -= failures.length;

    const lines = [...areas].toSorted(([a], [b]) => a.localeCompare(b)).map(describe);
    if (notRun.length > 0) lines.push("Not run:");
    for (const test of notRun) {
      const { name, note } = test;
      const failure = failures.includes(test) ? " (a failure as root in CI)" : "";
      lines.push(`  ${name}${note === "" ? "" : `: ${note}`}${failure}`);
    }
    if (retried.length > 0) {
      lines.push("Failed at the first attempt and passed at the second, which is a defect:");
      lines.push(...retried.map((name) => `  ${name}`));
    }
    process.stdout.write(
      `\n${lines.join("\n")}\n\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`,
    );
    if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
  }
}

const nameOf = (test: TestCase): string => `${test.module.relativeModuleId} > ${test.fullName}`;

/** `test/agent/logs/resource-lines.test.ts` belongs to the area `agent/logs`. */
const areaOf = (file: string): string =>
  file.replace(/^test\//, "").replace(/(^|\/)[^/]*$/, "") || "repository";

function countOf(module: TestModule, notRun: NotRun[]): Count {
  const count = none();
  for (const test of module.children.allTests()) {
    const result = test.result();
    if (result.state === "passed") count.passed += 1;
    else if (result.state === "failed") count.failed += 1;
    else {
      count.skipped += 1;
      const note = (result.state === "skipped" ? result.note : undefined) ?? "";
      notRun.push({ name: nameOf(test), note });
    }
  }
  // A file that cannot be loaded, or whose hooks fail, has no failed test.
  if (module.state() === "failed" && count.failed === 0) count.failed = 1;
  return count;
}

const add = (a: Count, b: Count): Count => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
});

const describe = ([area, count]: [string, Count]): string =>
  `  ${area.padEnd(28)}${String(count.passed).padStart(5)} passed${count.failed > 0 ? `, ${count.failed} failed` : ""}${count.skipped > 0 ? `, ${count.skipped} skipped` : ""}`;
