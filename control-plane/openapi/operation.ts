import type { TObject } from "typebox";
import { actsInSpace, type Endpoint } from "../../protocol/endpoint.ts";
import { withExample } from "./common.ts";
import { exampleOf } from "./examples.ts";
import type { Problems } from "./problems.ts";
import type { Json, Schemas } from "./schemas.ts";
import { securityOf } from "./security.ts";
import { mebibyte } from "../../common/units.ts";

/** The components that the operations of one document share. */
export interface Shared {
  readonly schemas: Schemas;
  readonly problems: Problems;
}

export function operationOf(name: string, tag: string, endpoint: Endpoint, shared: Shared): Json {
  const { summary, description } = endpoint;
  const parameters = parametersOf(endpoint, shared);
  const requestBody = requestBodyOf(name, endpoint, shared);
  return {
    operationId: name,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(endpoint),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(requestBody ? { requestBody } : {}),
    responses: {
      ...responsesOf(name, endpoint, shared),
      ...shared.problems.responsesOf(endpoint),
    },
  };
}

function parametersOf(endpoint: Endpoint, shared: Shared): Json[] {
  const { params, query, headers, bytes, also } = endpoint;
  return [
    ...each(params, "path", shared),
    ...each(query, "query", shared),
    ...each(headers, "header", shared),
    ...(actsInSpace(endpoint) ? [ref("parameters", "WindlassTeam")] : []),
    ...(bytes === "request" ? [ref("parameters", "ContentMd5")] : []),
    ...(also?.[206] === undefined
      ? []
      : ["Range", "IfRange", "IfNoneMatch"].map((name) => ref("parameters", name))),
  ];
}

function each(object: TObject | undefined, place: string, { schemas }: Shared): Json[] {
  return Object.entries(object?.properties ?? {}).map(([name, property]) => {
    const { description: _, examples: __, ...schema } = schemas.refer(property);
    const { description, enum: words } = property as { description?: string; enum?: unknown };
    const example = exampleOf(property);
    const required = object?.required?.includes(name) ?? false;
    const isTold = !required && typeof example === "string" && words === undefined;
    const said = isTold ? withExample(description ?? "", example).trim() : description;
    return {
      name: place === "header" ? titleCase(name) : name,
      in: place,
      required,
      ...(said === undefined ? {} : { description: said }),
      schema,
      ...(required && example !== undefined ? { example } : {}),
    };
  });
}

/** Converts `x-job-attempt` to `X-Job-Attempt`. */
const titleCase = (name: string): string =>
  name.replace(/(^|-)(\w)/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());

/** Whether the body may be omitted. */
const isNullable = ({ type }: { type?: unknown }): boolean =>
  Array.isArray(type) && type.includes("null");

function requestBodyOf(
  name: string,
  { body, bytes, media, bodyLimit }: Endpoint,
  { schemas }: Shared,
): Json | undefined {
  const limit = `At most ${bodyLimit ?? mebibyte} bytes.`;
  if (body)
    return {
      required: !isNullable(body),
      description: limit,
      content: {
        "application/json": {
          schema: schemas.refer(body, `${pascal(name)}Body`),
          example: exampleOf(body),
        },
      },
    };
  if (bytes !== "request") return undefined;
  const description = `${limit} Raw, of any content type.`;
  return { required: true, description, content: { [media ?? "application/octet-stream"]: {} } };
}

function responsesOf(name: string, endpoint: Endpoint, shared: Shared): Json {
  const { status, also = {} } = endpoint;
  const texts = { ...also, [status]: successText[status] };
  return Object.fromEntries(
    Object.entries(texts)
      .map(([code, text]) => [Number(code), text] as const)
      .map(([code, description]) => [
        code,
        {
          description,
          headers: headersOf(endpoint, code),
          ...(hasContent(endpoint, code) ? { content: contentOf(name, endpoint, shared) } : {}),
        },
      ]),
  );
}

const successText: Readonly<Record<Endpoint["status"], string>> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted; no content.",
  204: "Done; no content.",
  303: "Redirect to `Location`.",
};

const hasContent = ({ answer, bytes, media }: Endpoint, status: number): boolean =>
  status !== 204 &&
  status !== 303 &&
  status !== 304 &&
  (answer !== undefined || bytes === "response" || (media !== undefined && status >= 400));

function contentOf(name: string, endpoint: Endpoint, { schemas }: Shared): Json {
  const { answer, media, events } = endpoint;
  if (!answer)
    return { [media ?? "application/octet-stream"]: events ? eventsOf(events, schemas) : {} };
  const schema = schemas.refer(answer, `${pascal(name)}Answer`);
  return { "application/json": { schema, example: exampleOf(answer) } };
}

/** OpenAPI 3.1 cannot describe an event stream, so an extension lists the data of the events. */
const eventsOf = (events: NonNullable<Endpoint["events"]>, schemas: Schemas): Json => ({
  schema: { type: "string" },
  "x-event-data": Object.fromEntries(
    Object.entries(events).map(([event, data]) => [event, schemas.refer(data)]),
  ),
});

function headersOf({ also, status }: Endpoint, code: number): Json {
  const isContent = also?.[206] !== undefined;
  const names = [
    "X-Request-Id",
    ...(isContent ? ["ETag", "Repr-Digest", "Accept-Ranges"] : []),
    ...(isContent && code === 200 ? ["Content-Digest"] : []),
    ...(code === 206 ? ["Content-Range"] : []),
    ...(status === 303 && code === 303 ? ["Location", "Set-Cookie"] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, ref("headers", name)]));
}

const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
