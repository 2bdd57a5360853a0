/** Forms as browsers send them. */
import { ask, type Answer, type Plane } from "./plane.ts";

export type Fields = Record<string, string | readonly string[]>;

/** Sends fields, or a body that is written out. */
export function submit(
  plane: Plane,
  path: string,
  fields: Fields | string,
  headers: Record<string, string>,
): Promise<Answer> {
  const pairs = Object.entries(fields).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value] as [string, string]),
  );
  return ask(plane, "POST", path, {
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: typeof fields === "string" ? fields : new URLSearchParams(pairs).toString(),
  });
}
