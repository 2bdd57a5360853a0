/** Workspaces of terraform, of which a configuration has one, named `default`. */

/** Whether a terraform file asks for the workspace, not in a comment that begins its line. */
export const asksForWorkspace = (text: string): boolean =>
  /^(?!\s*(?:#|\/\/)).*\bterraform\.workspace\b/m.test(text);

/**
 * Warns that a job has another workspace than its files expect. `chosen`: what
 * `.terraform/environment` says. `user`: a file that asks for the workspace.
 */
export function workspaceWarning(
  directory: string,
  chosen: string | undefined,
  user: string | undefined,
): string | undefined {
  const name = chosen?.trim() ?? "";
  const why = [
    ...(name === "" || name === "default" ? [] : [`${directory} has the workspace "${name}"`]),
    ...(user === undefined ? [] : [`${user} uses terraform.workspace`]),
  ].join(", and ");
  return why === ""
    ? undefined
    : `Warning: ${why}, but in every job the workspace is "default". Use a variable, and one configuration for each workspace.`;
}
