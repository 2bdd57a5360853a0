/** Sends forms and reads pages, as browsers do. */
import { HTMLElement, NodeType, parse, type Node } from "node-html-parser";
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

/** A page, a part of one, or its HTML. */
type Html = string | { readonly text: string } | HTMLElement;

/** Parses a page or a part of one. */
export function dom(page: Html): HTMLElement {
  if (page instanceof HTMLElement) return page;
  const blockTextElements = { script: true, style: true };
  return parse(typeof page === "string" ? page : page.text, { blockTextElements });
}

/** Returns the visible text on one line. */
export const words = (page: Html): string =>
  ["", ...pieces(dom(page)), ""].join(" ").replaceAll(/\s+/g, " ");

const pieces = (node: Node): string[] =>
  node.nodeType === NodeType.TEXT_NODE ? [node.text] : node.childNodes.flatMap(pieces);

/** Returns the text of each element that a CSS selector matches, on one line. */
export const texts = (page: Html, selector: string): string[] =>
  dom(page)
    .querySelectorAll(selector)
    .map((element) => words(element).trim());

/** Returns the value of an attribute of each element that a CSS selector matches. */
export const attributes = (page: Html, selector: string, name = "href"): (string | undefined)[] =>
  dom(page)
    .querySelectorAll(selector)
    .map((element) => element.getAttribute(name));
