/**
 * Ephemeral input variables (terraform 1.10 and later): a plan does not contain their values, so
 * `apply` must get them again.
 */
import { createReadStream } from "node:fs";
import { StepFailed, type JobContext } from "../context.ts";
import { failureOf } from "../terraform/diagnostics.ts";
import { mentions } from "../mentions.ts";
import { runTerraform } from "../terraform/terraform.ts";

/**
 * Returns the variables that `apply` of the plan needs again. Runs terraform only if the files
 * mention ephemeral values at all.
 */
export async function ephemeralOf(context: JobContext, folder: string): Promise<string[]> {
  const { workspace, settings } = context;
  if (!mentions(workspace.root, folder, ["ephemeral"])) return [];
  const end = await runTerraform(context, "apply", ["show", "-json", workspace.plan], {
    logged: false,
    patience: settings.patience.plan,
    suffix: "-variables",
  });
  if (end.code !== 0) throw new StepFailed(await failureOf("show", end));
  return notKept(end.stdout);
}

/**
 * Returns the variables that the root module declares and whose values the plan, as `show -json`
 * prints it, does not contain.
 */
async function notKept(file: string): Promise<string[]> {
  const { JSONParser } = await import("@streamparser/json");
  const parser = new JSONParser({
    paths: ["$.variables.*", "$.configuration.root_module.variables.*"],
    keepStack: false,
  });
  const declared: string[] = [];
  const kept = new Set<string>();
  parser.onValue = ({ key, stack }) => {
    const name = String(key);
    if (stack[1]?.key === "variables") kept.add(name);
    else declared.push(name);
  };
  for await (const part of createReadStream(file)) parser.write(part as Buffer);
  if (!parser.isEnded) parser.end();
  return declared.filter((name) => !kept.has(name));
}
