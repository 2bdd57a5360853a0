import type { Endpoint } from "../../protocol/endpoint.ts";
import { Problem } from "../../protocol/problem.ts";
import { headers, introduction, parameters } from "./common.ts";
import { operationOf } from "./operation.ts";
import { Problems } from "./problems.ts";
import { Schemas, type Json } from "./schemas.ts";
import { securitySchemes } from "./security.ts";
import { tags } from "../../protocol/endpoints.ts";

/** Builds the whole document. This takes some milliseconds, so callers keep the result. */
export function openApiDocument(version: string): Json {
  const shared = { schemas: new Schemas(), problems: new Problems() };
  shared.schemas.refer(Problem);
  const paths: Record<string, Record<string, Json>> = {};
  for (const tag of tags)
    for (const [name, endpoint] of Object.entries(tag.endpoints).filter(isListed))
      (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operationOf(
        name,
        tag.name,
        endpoint,
        shared,
      );
  return {
    openapi: "3.1.0",
    info: {
      title: "Windlass",
      version,
      summary: "Runs Terraform and OpenTofu for teams.",
      description: introduction,
      license: { name: "UNLICENSED" },
    },
    servers: [{ url: "/", description: "The control plane that serves this document." }],
    tags: tags.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes,
      parameters,
      headers,
      responses: shared.problems.responses(),
      examples: shared.problems.examples(),
      schemas: shared.schemas.components(),
    },
  };
}

/** A path item cannot have the methods LOCK and UNLOCK. The tag's description explains them. */
const isListed = ([, { method }]: [string, Endpoint]): boolean =>
  method !== "LOCK" && method !== "UNLOCK";
