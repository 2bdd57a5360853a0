/** Sends forms as browsers do. */
import { ask, type TestResponse, type Plane } from "../plane/plane.ts";

export type Fields = Record<string, string | readonly string[]>;

/** Sends fields, or a body that is already encoded. */
export function submit(
  plane: Plane,
  path: string,
  fields: Fields | string,
  headers: Record<string, string>,
): Promise<TestResponse> {
  const pairs = Object.entries(fields).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value] as [string, string]),
  );
  return ask(plane, "POST", path, {
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: typeof fields === "string" ? fields : new URLSearchParams(pairs).toString(),
  });
}

/** Returns the visible text of a page on one line. */
export const words = ({ text }: Pick<TestResponse, "text">): string =>
  text
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(amp|quot|lt|gt|#39);/g, (_, name: string) => entities[name] ?? "")
    .replaceAll(/\s+/g, " ");

const entities: Readonly<Record<string, string>> = {
  amp: "&",
  quot: '"',
  lt: "<",
  gt: ">",
  "#39": "'",
};
