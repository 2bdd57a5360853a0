/** `windlass drift`: whether the infrastructure still is what was deployed. */
import { configurationHelp, exitCodes, noun, verbExamples } from "../noun.ts";
import type { Waiting } from "../drift/verbs.ts";
import { action, type Run } from "../run.ts";

const verbs = () => import("../drift/verbs.ts");

export function driftCommand() {
  const drift = noun("drift", "what differs between the infrastructure and what was deployed");
  const named = (name: string, description: string) =>
    drift.command(name).description(description).argument("<name>", configurationHelp);
  const waiting = (name: string, description: string) =>
    named(name, description).option("--wait", "follow the job and wait for its end");
  const codes = { 0: "nothing differs", 1: "the check failed", 2: "something has drifted" };
  exitCodes(
    waiting("check", "queue a check: a plan that only refreshes, of what is deployed").action(
      action(async (run: Run, name: string, options: Waiting) =>
        (await verbs()).check(run, name, options),
      ),
    ),
    codes,
  );
  drift
    .command("list")
    .description("list the configurations that have drifted")
    .action(action(async (run: Run) => (await verbs()).list(run)));
  exitCodes(
    named("show", "show the result of the last check, and what differs").action(
      action(async (run: Run, name: string) => (await verbs()).show(run, name)),
    ),
    codes,
  );
  waiting("accept", "deploy the plan of the check: the state records what is there").action(
    action(async (run: Run, name: string, options: Waiting) =>
      (await verbs()).accept(run, name, options),
    ),
  );
  waiting("put-back", "plan what was deployed; deploying that plan puts it back").action(
    action(async (run: Run, name: string, options: Waiting) =>
      (await verbs()).putBack(run, name, options),
    ),
  );
  return verbExamples(drift, {
    check: ["network --wait", "exits with 2 if something has drifted"],
    list: ["", "as far as they were checked"],
    show: ["network", "attribute by attribute"],
    accept: ["network --wait", "changes no resource"],
    "put-back": ["network --wait", "then deploy the plan"],
  });
}
