/** Whether a path of an attribute, such as `tags.Name` or `disk[0].id`, is another or leads on from it. */
export const isWithin = (path: string, other: string): boolean =>
  path.startsWith(other) && (path.length === other.length || ".[".includes(path[other.length]!));
