/** The generated OpenAPI document: valid, complete, with examples that match its schemas. */
import { isForbiddenEnvironmentName } from "../../../protocol/environment-names.ts";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats, { type FormatsPlugin } from "ajv-formats";
import { expect, it } from "vitest";
import { openApiDocument } from "../../../control-plane/openapi/document.ts";
import { endpoints } from "../../../protocol/endpoints.ts";
import { version } from "../../../common/version.ts";

type Node = Record<string, unknown>;

const document = JSON.parse(JSON.stringify(openApiDocument(version()))) as Node & {
  paths: Record<string, Record<string, Operation>>;
};
interface Operation extends Node {
  operationId: string;
  parameters?: Node[];
}
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.values(item).map((operation) => ({ path, operation })),
);

it("is valid OpenAPI 3.1", async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(document["openapi"]).toMatch(/^3\.1\./);
});

it("has no dangling reference and no unused component", () => {
  const refs = new Set(
    nodes(document).flatMap(({ node }) => (typeof node["$ref"] === "string" ? [node["$ref"]] : [])),
  );
  expect([...refs].filter((ref) => at(ref) === undefined)).toEqual([]);
  const components = document["components"] as Record<string, Node>;
  const named = Object.entries(components).flatMap(([kind, of]) =>
    kind === "securitySchemes" ? [] : Object.keys(of).map((name) => `#/components/${kind}/${name}`),
  );
  expect(named.filter((name) => !refs.has(name))).toEqual([]);
});

it("lists every endpoint of the protocol with its own name", () => {
  expect(operations.map(({ operation }) => operation.operationId).toSorted()).toEqual(
    Object.keys(endpoints)
      .filter((name) => name !== "lockState" && name !== "unlockState")
      .toSorted(),
  );
});

it("describes every path parameter, query parameter and header", () => {
  const silent: string[] = [];
  for (const { path, operation } of operations) {
    const parameters = (operation.parameters ?? []).map(resolve);
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const inPath = parameters.filter((parameter) => parameter["in"] === "path");
    expect(inPath.map(({ name }) => name)).toEqual(names);
    for (const parameter of parameters)
      if (!parameter["description"])
        silent.push(`${operation.operationId}: ${String(parameter["name"])}`);
  }
  expect(silent, "give its schema a `description` in protocol/").toEqual([]);
});

it("has an example for every JSON body, and every example matches its schema", () => {
  const ajv = new Ajv2020({ strict: false });
  (addFormats as unknown as FormatsPlugin)(ajv);
  ajv.addSchema(document, "document");
  const missing: string[] = [];
  const wrong: string[] = [];
  let checked = 0;
  for (const { node, pointer } of nodes(document)) {
    if (!("schema" in node)) continue;
    const isJson = pointer.endsWith("json");
    const named = Object.values((node["examples"] ?? {}) as Record<string, Node>);
    const values =
      "example" in node ? [node["example"]] : named.map((one) => resolve(one)["value"]);
    if (isJson && values.length === 0) missing.push(pointer);
    for (const value of values) {
      checked += 1;
      if (!ajv.validate({ $ref: `document${pointer}/schema` }, value))
        wrong.push(`${pointer}: ${ajv.errorsText()}`);
    }
  }
  expect(missing, "add one to control-plane/openapi/examples/").toEqual([]);
  expect(wrong).toEqual([]);
  expect(checked).toBeGreaterThan(150);
});

it("has no example with an environment variable that the server refuses", () => {
  const names: string[] = [];
  JSON.stringify(document, (key, value: unknown) => {
    // The schemas have a `properties.environment`, whose keys are words of JSON Schema.
    if (key === "environment" && typeof value === "object") names.push(...Object.keys(value ?? {}));
    return value;
  });
  expect(names).toContain("REGISTRY_TOKEN");
  expect(names.filter(isForbiddenEnvironmentName)).toEqual([]);
});

it("has no example of a parameter that may be left out, which its page would send", () => {
  const optional = [...nodes(document)].filter(({ node }) => node["required"] === false);
  expect(optional.length).toBeGreaterThan(20);
  for (const { node, pointer } of optional)
    expect([pointer, "example" in node || "examples" in node]).toEqual([pointer, false]);
});

/** Every object of the document with its JSON pointer, except the contents of examples. */
function nodes(root: Node): { node: Node; pointer: string }[] {
  const found: { node: Node; pointer: string }[] = [];
  const visit = (value: unknown, pointer: string): void => {
    if (typeof value !== "object" || value === null) return;
    found.push({ node: value as Node, pointer });
    for (const [name, part] of Object.entries(value))
      if (name !== "example" && name !== "value")
        visit(part, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  };
  visit(root, "#");
  return found;
}

function at(ref: string): unknown {
  const names = ref
    .slice(2)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return names.reduce<unknown>((node, name) => (node as Node | undefined)?.[name], document);
}

function resolve(node: Node): Node {
  return typeof node["$ref"] === "string" ? (at(node["$ref"]) as Node) : node;
}
